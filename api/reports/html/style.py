"""How the page looks, in light, in dark and on paper. It names no font and no image from anywhere."""

STYLE = """
:root { color-scheme: light dark;
  --paper: #ffffff; --raised: #f6f7f9; --ink: #1c2128; --soft: #57606a; --line: #d8dee4; --track: #e6e9ed;
  --stable: #1a7f4b; --flaky: #9a6700; --failing: #c0392b; --error: #8250df; --skipped: #6e7781;
  --accent: #0b62c4; --found: #d7f5dd; --found-ink: #0b3d1c; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #11151a; --raised: #1a2027; --ink: #e4e8ec; --soft: #9aa5b1; --line: #2f3842; --track: #2a323b;
  --stable: #4cc38a; --flaky: #e0b040; --failing: #ff7b72; --error: #c297ff; --skipped: #8b949e;
  --accent: #6cb2ff; --found: #17452a; --found-ink: #c9f5d6; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main, header, footer { max-width: 64rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
h3 { font-size: .95rem; margin: 1.1rem 0 .4rem; }
p { margin: .4rem 0; }
a { color: var(--accent); }
.soft, dt, th, footer { color: var(--soft); }
code, pre { font: .87em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
code { background: var(--raised); border-radius: 4px; padding: .1em .3em; overflow-wrap: anywhere;
  white-space: pre-wrap; }
pre { background: var(--raised); border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem;
  margin: .5rem 0;
  max-height: 24rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
bdi, code, pre { unicode-bidi: isolate; }
mark { background: var(--found); color: var(--found-ink); border-radius: 3px; padding: .05em .15em; }
.judgement { margin: 1rem 0; padding: .7rem 1rem; border: 1px solid currentColor; border-left-width: 6px;
  border-radius: 6px;
  font-weight: 600; }
.passed { color: var(--stable); } .worse { color: var(--failing); } .unusable { color: var(--error); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: .9rem; margin: 1.25rem 0; }
.card { background: var(--raised); border: 1px solid var(--line); border-radius: 10px; padding: .8rem 1rem; }
.card b { display: block; font-size: 1.75rem; line-height: 1.25; font-variant-numeric: tabular-nums; }
.card svg { margin-top: .35rem; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); gap: .15rem 1.5rem; margin: 1rem 0; }
dl div { display: flex; gap: .6rem; min-width: 0; } dt { flex: 0 0 5.5rem; } dd { margin: 0; min-width: 0;
  overflow-wrap: anywhere; }
dl.said { display: block; margin: .5rem .9rem; }
dl.said dd { white-space: pre-wrap; margin-bottom: .5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { font-weight: 500; text-align: left; font-size: .87rem; }
th, td { padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td { overflow-wrap: anywhere; min-width: 4rem; }
.n { text-align: right; white-space: nowrap; }
svg { display: block; width: 100%; }
td svg { margin-top: .4rem; }
svg text { fill: var(--soft); font-size: 11px; }
.track { fill: var(--track); } .tick { stroke: var(--ink); } .grid { stroke: var(--line); }
.series { fill: none; stroke: var(--accent); stroke-width: 2; } .dot { fill: var(--accent); }
.whisker { stroke: var(--accent); stroke-width: 1.5; opacity: .55; } .here { fill: var(--paper);
  stroke: var(--accent); stroke-width: 2.5; }
.band { fill: var(--accent); opacity: .25; }
.f-stable { fill: var(--stable); } .f-flaky { fill: var(--flaky); } .f-failing { fill: var(--failing); }
.f-error { fill: var(--error); } .f-skipped { fill: var(--skipped); }
.v-stable { color: var(--stable); } .v-flaky { color: var(--flaky); } .v-failing { color: var(--failing); }
.v-error { color: var(--error); } .v-skipped { color: var(--skipped); }
.chip { font-size: .78rem; font-weight: 600; border: 1px solid currentColor; border-radius: 99px;
  padding: .05rem .5rem;
  white-space: nowrap; text-align: center; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem .9rem; margin: .4rem 0 0; font-size: .87rem; }
.filters { display: flex; flex-wrap: wrap; gap: .3rem 1rem; margin: .5rem 0; font-size: .9rem; }
.filters label { cursor: pointer; }
details { border: 1px solid var(--line); border-radius: 8px; margin: .4rem 0; background: var(--paper); }
details[open] > summary { border-bottom: 1px solid var(--line); }
summary::-webkit-details-marker { display: none; }
summary::before { content: "\\25b8"; color: var(--soft); } details[open] > summary::before { content: "\\25be"; }
summary { display: grid; grid-template-columns: .7rem 4.6rem minmax(0, 1fr) 9rem 3.5rem 4.5rem 4rem; gap: .75rem;
  align-items: center;
  padding: .45rem .8rem; cursor: pointer; font-variant-numeric: tabular-nums; }
summary:hover { background: var(--raised); } summary:focus-visible { outline: 2px solid var(--accent); }
summary b { font-weight: 600; overflow-wrap: anywhere; } summary small { color: var(--soft); display: block;
  overflow-wrap: anywhere; }
details.plain > summary { grid-template-columns: .7rem minmax(0, 1fr); }
.inner { padding: .2rem .9rem .9rem; }
.down { color: var(--failing); } .up { color: var(--stable); }
ul.findings { list-style: none; margin: .2rem 0 .6rem; padding: 0; }
ul.findings li { padding: .25rem 0 .25rem 1.4rem; position: relative; overflow-wrap: anywhere; }
ul.findings li::before { position: absolute; left: 0; font-weight: 700; }
li.good::before { content: "\\2713"; color: var(--stable); } li.bad::before { content: "\\2717";
  color: var(--failing); }
li.idle::before { content: "\\00b7"; color: var(--soft); } li.idle { color: var(--soft); }
blockquote { margin: .25rem 0 0; padding: .15rem .7rem; border-left: 3px solid var(--line); white-space: pre-wrap; }
body:has(#only-bad:checked) .scenario.v-is-stable,
  body:has(#only-moved:checked) .scenario:not(.moved) { display: none; }
footer { padding-top: 1.5rem; padding-bottom: 3rem; font-size: .87rem; }
@media (max-width: 44rem) { summary { grid-template-columns: .7rem 4.6rem minmax(0, 1fr) 3.5rem; }
  summary > .bar, summary > .passes, summary > .change { display: none; } }
@media print { :root { --paper: #fff; --raised: #fff; --ink: #000; --soft: #444; --line: #bbb; --track: #ddd;
  --found: #ddd; --found-ink: #000; }
  body { font-size: 10.5pt; } main, header, footer { max-width: none; padding: 0; } .filters { display: none; }
  details::details-content { content-visibility: visible; block-size: auto; } pre { max-height: none; }
  .scenario > summary, li, tr { break-inside: avoid; } h2 { break-after: avoid; } }
"""
