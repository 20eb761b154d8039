package report

import (
	"fmt"
	"html/template"
	"io"
)

// Page is a report in one file.
type Page struct {
	Title string
	// Facts are shown below the title, as names and values.
	Facts []Fact
	// Warnings come before all else that is measured.
	Warnings []string
	Table    Table
	// Legend explains the table.
	Legend string
	// Matrix is shown above the table, and Sections below the charts.
	Matrix   Matrix
	Sections []Section
	Lines    []Lines
	Bars     []Bars
	// Notes are sentences below the charts.
	Notes []string
	// Texts can be unfolded.
	Texts []Fact
}

// Fact is a value and its name.
type Fact struct{ Name, Value string }

// Write writes the page as HTML. The error is w's.
func (p Page) Write(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"n":     func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"color": func(i int) int { return i % colors },
	}).Parse(pageText + matrixText + tableText + sectionText + timelineText)
	if err != nil {
		return err
	}
	return t.Execute(w, p)
}

// colors is how many differ.
const colors = 6

const pageText = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>` + pageStyle + sectionStyle + `</style>
</head>
<body>
<main>
<h1>{{.Title}}</h1>
<dl>{{range .Facts}}<div><dt>{{.Name}}</dt><dd>{{.Value}}</dd></div>{{end}}</dl>
{{range .Warnings}}<p class="warning">{{.}}</p>
{{end}}
{{- with .Matrix}}{{if .Rows}}{{template "matrix" .}}{{end}}{{end}}
{{- if .Table.Head}}{{template "table" .Table}}{{end}}
<p class="legend">{{.Legend}}</p>
<div class="charts">
{{- range .Lines}}
<figure><figcaption>{{.Title}} <small>{{.Unit}}, less is better</small></figcaption>
<svg viewBox="0 0 320 {{n .Height}}" role="img" aria-label="{{.Title}}">
{{- $left := n .Left}}{{$right := n .Right}}
{{- range .Scale}}<line class="grid" x1="{{$left}}" x2="{{$right}}" y1="{{n .At}}" y2="{{n .At}}"/><text class="tick" x="{{$left}}" dx="-4" y="{{n .At}}" dy="4" text-anchor="end">{{.Text}}</text>{{end}}
{{- range .Below}}<text class="tick" x="{{n .At}}" y="212" text-anchor="middle">{{.Text}}</text>{{end}}
{{- range .Drawn}}<polyline class="line c{{color .Color}}" points="{{.Points}}"/>{{$c := color .Color}}{{range .Dots}}<circle class="dot c{{$c}}" cx="{{n (index . 0)}}" cy="{{n (index . 1)}}" r="2.5"/>{{end}}{{end}}
</svg>
<p class="keys">{{range .Lines}}<span><i class="c{{color .Color}}"></i>{{.Name}}</span>{{end}}</p></figure>
{{- end}}
{{- range .Bars}}
<figure><figcaption>{{.Title}} <small>{{if .Unit}}{{.Unit}}, {{end}}{{.Better}}</small></figcaption>
<svg viewBox="0 0 320 {{n .Height}}" role="img" aria-label="{{.Title}}">
{{- range .Drawn}}<text x="0" y="{{n .TextY}}">{{.Name}}</text><text class="value" x="320" y="{{n .TextY}}" text-anchor="end">{{.Text}}</text><rect class="bar c{{color .Color}}" x="0" y="{{n .Y}}" width="{{n .W}}" height="10" rx="2"/>
{{- if .Whisker}}<line class="range" x1="{{n .From}}" x2="{{n .To}}" y1="{{n .Mid}}" y2="{{n .Mid}}"/>{{end}}{{end}}
</svg></figure>
{{- end}}
</div>
{{range $i, $s := .Sections}}<section><h2 id="s{{$i}}">{{.Title}}</h2>
{{template "section" .}}</section>
{{end}}
{{- if .Notes}}<h2>Notes</h2>
<ul>{{range .Notes}}<li>{{.}}</li>{{end}}</ul>{{end}}
{{range .Texts}}<details><summary>{{.Name}}</summary><pre>{{.Value}}</pre></details>
{{end}}</main>
</body>
</html>
`

const pageStyle = `
:root { color-scheme: light dark; --ground: #fff; --card: #f6f7f9; --ink: #1c2024; --faint: #646b73; --rule: #dfe3e8; --bad: #b3261e;
  --c0: #1f6feb; --c1: #d9822b; --c2: #2e9e6b; --c3: #8a94a0; --c4: #a05fd0; --c5: #c2496b; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14171a; --card: #1d2125; --ink: #e6e9ec; --faint: #9aa3ad; --rule: #343a41; --bad: #ff8a80;
    --c0: #5b9bff; --c1: #f0a354; --c2: #53c18d; --c3: #8a94a0; --c4: #c08be8; --c5: #ec7b9a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 16px; }
h1 { font-size: 1.4rem; margin: 8px 0 12px; } h2 { font-size: 1.1rem; margin: 24px 0 8px; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr)); gap: 4px 24px; margin: 0 0 16px; }
dl div { display: flex; gap: 8px; } dt { color: var(--faint); flex: 0 0 5.5em; } dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
.warning { border-left: 4px solid var(--bad); background: var(--card); padding: 8px 12px; margin: 8px 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 8px; text-align: right; white-space: nowrap; vertical-align: top; }
tbody th { text-align: left; font-weight: 400; white-space: normal; min-width: 7em; position: sticky; left: 0; background: var(--ground); }
thead th { border-bottom: 1px solid var(--rule); } tr.first > * { border-top: 1px solid var(--rule); }
td small { display: block; color: var(--faint); } small { color: var(--faint); font-weight: 400; } small b { color: var(--ink); font-weight: 600; }
.bad { color: var(--bad); } .legend { color: var(--faint); font-size: .9rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr)); gap: 16px; align-items: start; }
figure { margin: 0; padding: 12px; background: var(--card); border-radius: 8px; }
figcaption { font-weight: 600; margin-bottom: 6px; } svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--ink); font-size: 12px; } svg .value { font-weight: 600; } svg .tick { fill: var(--faint); font-size: 11px; }
.grid { stroke: var(--rule); } .range { stroke: var(--ink); stroke-width: 1.5; opacity: .75; } .line { fill: none; stroke-width: 2; }
.keys { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 6px 0 0; font-size: .85rem; }
.keys i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 5px; }
.bar.c0, .dot.c0 { fill: var(--c0); } .bar.c1, .dot.c1 { fill: var(--c1); } .bar.c2, .dot.c2 { fill: var(--c2); }
.bar.c3, .dot.c3 { fill: var(--c3); } .bar.c4, .dot.c4 { fill: var(--c4); } .bar.c5, .dot.c5 { fill: var(--c5); }
.line.c0 { stroke: var(--c0); } .line.c1 { stroke: var(--c1); } .line.c2 { stroke: var(--c2); } .line.c3 { stroke: var(--c3); } .line.c4 { stroke: var(--c4); } .line.c5 { stroke: var(--c5); }
i.c0 { background: var(--c0); } i.c1 { background: var(--c1); } i.c2 { background: var(--c2); } i.c3 { background: var(--c3); } i.c4 { background: var(--c4); } i.c5 { background: var(--c5); }
details { margin: 8px 0; } summary { cursor: pointer; } pre { overflow-x: auto; background: var(--card); padding: 12px; border-radius: 8px; font-size: 12px; }
`
