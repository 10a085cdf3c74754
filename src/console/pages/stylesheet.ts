/** What the console's pages add to the stylesheet of all pages. */

/** The same colours, wider; tables scroll on their own in a narrow window. */
export const consoleStylesheet = `
.frame.wide { max-width: 72rem; padding-top: 1.5rem; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--card); padding: .5rem .8rem; }
nav.console { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem; margin: 0 0 1rem; }
nav.console a { padding: .4rem .5rem; border-radius: .5rem; text-decoration: none; color: var(--ink); font-weight: 500; }
nav.console a:hover { background: var(--soft); text-decoration: underline; }
nav.console a[aria-current] { background: var(--accent); color: var(--accent-ink); }
nav.console form { margin-left: auto; }
.wide h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
.state { color: var(--quiet); font-size: .875rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(15rem, 100%), 1fr)); gap: .75rem; margin: 0; padding: 0; list-style: none; }
.tiles li { border: 1px solid var(--line); border-left: 4px solid var(--field); border-radius: .6rem; padding: .7rem .9rem; min-width: 0; }
.tiles li.good { border-left-color: #2e8b57; }
.tiles li.bad { border-left-color: var(--bad-line); }
.tiles li.warn { border-left-color: var(--warn-line); }
.tiles strong { display: block; }
.tiles span { font-size: .9rem; overflow-wrap: anywhere; }
h2, li { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
.scroll:focus-visible { outline-offset: -3px; }
table { border-collapse: collapse; width: 100%; font-size: .925rem; }
caption { position: sticky; left: 0; max-width: min(100%, 100vw - 5rem); text-align: left; color: var(--quiet); font-size: .875rem; padding-bottom: .4rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .6rem .45rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
td { min-width: 6.5rem; }
.titled caption { display: none; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; min-width: 3rem; white-space: nowrap; }
td form { margin: 0; }
th { font-weight: 600; white-space: nowrap; }
.badge { display: inline-block; padding: .05rem .5rem; border: 1px solid var(--field); border-radius: 1rem; font-size: .8rem; white-space: nowrap; }
.badge.bad { border-color: var(--bad-line); background: var(--bad); color: var(--bad-ink); }
.badge.good { border-color: var(--accent); }
.badge.warn { border-color: var(--warn-line); background: var(--warn); color: var(--warn-ink); }
.row { display: flex; flex-wrap: wrap; gap: .6rem; align-items: end; margin-bottom: 1rem; }
.row > div { min-width: 0; max-width: 100%; }
.row label { font-size: .875rem; font-weight: 600; }
.row input, .row select, textarea {
  display: block; max-width: 100%; padding: .45rem .6rem; font: inherit; font-weight: 400; color: inherit; background: var(--card);
  border: 1px solid var(--field); border-radius: .5rem;
}
.row input[type="text"] { width: 12rem; }
figure { margin: .5rem 0 1rem; }
rect.well { fill: var(--accent); }
rect.bad { fill: var(--bad-line); }
figure svg { width: 100%; height: auto; max-height: 12rem; }
pre.difference { max-height: 30rem; overflow: auto; }
pre.difference ins { text-decoration: none; font-weight: 600; }
pre.difference del { color: var(--quiet); }
.held { border-top: 1px solid var(--line); padding: .5rem 0 1.5rem; }
.held:first-child { border-top: 0; }
.held fieldset label { display: block; padding: .15rem 0 .15rem 1.5rem; text-indent: -1.5rem; }
.held .actions { max-width: 24rem; }
input[type="radio"] { accent-color: var(--accent); }
ul.rules li { padding: .4rem 0; }
details > summary { cursor: pointer; padding: .3rem 0; }
button.danger { background: transparent; border-color: var(--bad-line); color: var(--bad-ink); }
@media (prefers-color-scheme: dark) { button.danger { color: var(--bad-ink); } }
button.danger:hover { background: var(--bad); }
@media print { nav.console, form, form.row, .skip { display: none; } main { border: 0; box-shadow: none; } }
@media (max-width: 40rem) { td { min-width: 8rem; } }
@media (min-width: 40.01rem) { td time { white-space: nowrap; } }
@media (max-width: 26rem) { nav.console form { margin-left: 0; } }
`;
