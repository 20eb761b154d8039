package report

// Section is a part of a page under a heading of its own.
type Section struct {
	Title string
	// Text explains it.
	Text string
	// List are sentences below it.
	List []string
	// Timelines stand side by side where there is room.
	Timelines []Timeline
	// More are shown when they are unfolded, under the name Folded.
	Folded string
	More   []Timeline
	Table  Table
}

// Matrix is an overview: colored cells with text in them.
type Matrix struct {
	Head []string
	Rows []MatrixRow
	// Text explains it.
	Text string
}

// MatrixRow is one line of a Matrix.
type MatrixRow struct {
	Label string
	// Anchor is the index of the section that tells more, from 0; less = none does.
	Anchor int
	Cells  []Cell
}

// Cell is a place in a Matrix.
type Cell struct {
	// Value and More are texts, the second smaller.
	Value, More string
	// Level is its color, from 0 (all is well) to 4; less = none.
	Level int
	// Best is true if no other cell of the row is better.
	Best bool
}

const matrixText = `{{define "matrix"}}
<div class="scroll"><table class="matrix">
<thead><tr><th></th>{{range .Head}}<th>{{.}}</th>{{end}}</tr></thead>
<tbody>
{{- range .Rows}}
<tr><th>{{if ge .Anchor 0}}<a href="#s{{.Anchor}}">{{.Label}}</a>{{else}}{{.Label}}{{end}}</th>
{{- range .Cells}}<td{{if ge .Level 0}} class="l{{.Level}}"{{end}}>{{.Value}}{{if .Best}} <b title="best">✓</b>{{end}}{{if .More}}<small>{{.More}}</small>{{end}}</td>{{end}}</tr>
{{- end}}
</tbody>
</table></div>
<p class="legend">{{.Text}}</p>
{{end}}`

const tableText = `{{define "table"}}
<div class="scroll"><table>
<thead><tr><th></th>{{range .Head}}<th>{{.}}</th>{{end}}</tr></thead>
<tbody>
{{- range .Rows}}
<tr{{if .First}} class="first"{{end}}><th>{{.Label}}{{if .Unit}} <small>{{.Unit}}</small>{{end}}</th>
{{- range .Figures}}<td{{if .Bad}} class="bad"{{end}}>{{.Value}}{{if .Bad}}!{{end}}
{{- if or .Spread .Ratio}}<small>{{.Spread}}{{if .Ratio}} <b>{{.Ratio}}</b>{{end}}</small>{{end}}</td>{{end}}</tr>
{{- end}}
</tbody>
</table></div>
{{end}}`

const sectionText = `{{define "section"}}{{if .Text}}<p>{{.Text}}</p>{{end}}
{{- if .List}}<ul>{{range .List}}<li>{{.}}</li>{{end}}</ul>{{end}}
{{- if .Timelines}}
<p class="keys"><span><i class="t-ok"></i>served</span><span><i class="t-late"></i>late or stuck</span><span><i class="t-fail"></i>failed or ended</span><span><i class="t-s3"></i>share a backend served</span><span><i class="broken"></i>broken</span></p>
{{end}}
{{- if .Timelines}}<div class="charts">{{range .Timelines}}{{template "timeline" .}}{{end}}</div>{{end}}
{{- if .Table.Rows}}{{template "table" .Table}}{{end}}
{{- if .More}}<details><summary>{{.Folded}}</summary><div class="charts">{{range .More}}{{template "timeline" .}}{{end}}</div></details>{{end}}
{{end}}`

const timelineText = `{{define "timeline"}}
<figure><figcaption>{{.Title}} <small{{if .Bad}} class="bad"{{end}}>{{.Text}}</small></figcaption>
<svg viewBox="0 0 320 {{n .Height}}" role="img" aria-label="{{.Aria}}">
{{- $c := .}}{{range .Shade}}<rect class="shade" x="{{n .X}}" y="{{n .Y}}" width="{{n .W}}" height="{{n .H}}"/>{{end}}
{{- range .Paths}}{{if .D}}<path class="t-{{.Class}}" d="{{.D}}"/>{{end}}{{end}}
{{- range .Broken}}<rect class="broken" x="{{n .X}}" y="{{n .Y}}" width="{{n .W}}" height="{{n .H}}"/>{{end}}
{{- range .Names}}<text class="tick" x="0" y="{{n .At}}">{{.Text}}</text>{{end}}
{{- range .Events}}<line class="event" x1="{{n .At}}" x2="{{n .At}}" y1="14" y2="{{n $c.Bottom}}"/><text class="mark" x="{{n .At}}" y="11" text-anchor="{{.Anchor}}">{{.Text}}</text>{{end}}
{{- if .Held}}<text class="tick halo" x="{{n .Left}}" y="{{n .HeldTextY}}">{{.HeldText}}</text><line class="grid" x1="{{n .Left}}" x2="{{n .Right}}" y1="{{n .HeldBase}}" y2="{{n .HeldBase}}"/>{{end}}
<line class="grid" x1="{{n .Left}}" x2="{{n .Right}}" y1="{{n .Base}}" y2="{{n .Base}}"/>
{{- range .Ticks}}<text class="tick" x="{{n .At}}" y="{{n $c.AxisY}}" text-anchor="middle">{{.Text}}</text>{{end}}
</svg></figure>
{{end}}`

const sectionStyle = `
:root { --ok: #8ccbb0; --late: #dd9a00; --fail: #d3262b; --who: #5b7fa6; --l0: #dcf2e6; --l1: #eef4d4; --l2: #fdeebf; --l3: #fbd3b4; --l4: #f6b5b0; }
@media (prefers-color-scheme: dark) {
  :root { --ok: #3c7d64; --late: #efb73e; --fail: #ff5f57; --who: #7fa6d2; --l0: #17382b; --l1: #2c381a; --l2: #453a12; --l3: #53300f; --l4: #5f1f1d; } }
.t-ok { fill: var(--ok); } .t-late { fill: var(--late); } .t-fail { fill: var(--fail); }
.t-s1, .t-s2, .t-s3, .t-s4 { fill: var(--who); } .t-s1 { opacity: .2; } .t-s2 { opacity: .45; } .t-s3 { opacity: .7; }
.shade { fill: var(--fail); opacity: .07; } .broken { fill: var(--fail); fill-opacity: .18; stroke: var(--fail); }
.event { stroke: var(--ink); stroke-dasharray: 3 2; opacity: .7; } svg .halo { paint-order: stroke; stroke: var(--card); stroke-width: 3px; } details .charts { margin-top: 8px; } svg .mark { font-size: 11px; font-weight: 600; }
.matrix td { text-align: center; border: 2px solid var(--ground); border-radius: 6px; font-weight: 600; white-space: nowrap; } .matrix td small { font-weight: 400; color: var(--ink); }
.matrix thead th { text-align: center; white-space: normal; overflow-wrap: anywhere; } .matrix a { color: inherit; }
.l0 { background: var(--l0); } .l1 { background: var(--l1); } .l2 { background: var(--l2); } .l3 { background: var(--l3); } .l4 { background: var(--l4); }
@media (max-width: 480px) { .matrix th, .matrix td { padding: 3px 2px; font-size: 12px; } .matrix tbody th { min-width: 5em; overflow-wrap: anywhere; } .matrix td small { font-size: 11px; } }
section .keys { margin: 6px 0 8px; } .charts + .scroll { margin-top: 8px; } figcaption small { font-size: .95em; } figcaption .bad { color: var(--bad); font-weight: 600; } h2 { scroll-margin-top: 8px; }
i.t-ok { background: var(--ok); } i.t-late { background: var(--late); } i.t-fail { background: var(--fail); } i.t-s3 { background: var(--who); }
i.broken { border: 1px solid var(--fail); background: color-mix(in srgb, var(--fail) 20%, transparent); }
`
