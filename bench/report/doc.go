// Package report shows figures: a table for terminals, and one HTML page with charts.
//
// It does not know what the figures are, and computes none.
//
// # Design
//
// A page is a single file: style and SVG are inline, there is no script and nothing to
// load. Charts are drawn in a fixed small box that the page scales, so that they can be
// read on a telephone; colors come from style variables, of which there is a light and a
// dark set. html/template escapes every text.
//
// A bar shows a median, and a line over it the least and the greatest. A line chart has
// a logarithmic scale, because percentiles of latency have no other.
//
// A timeline is drawn in paths, one for each color and not one for each bucket, and a
// step only where a count changes, so that a page with a hundred of them stays small.
// What failed is drawn at the base and again in a strip, at least as wide as the eye
// needs: one failure among thousands must not be overlooked.
package report
