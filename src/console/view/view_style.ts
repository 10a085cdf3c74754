/** Colours and type are the host's where it names them (SEP-1865, theming), else the console's. */
export const viewStylesheet = `
:root {
  color-scheme: light dark;
  --ground: var(--color-background-primary, light-dark(#ffffff, #1b1e25));
  --soft: var(--color-background-secondary, light-dark(#f5f7fb, #232731));
  --ink: var(--color-text-primary, light-dark(#1a1d23, #eceef2));
  --quiet: var(--color-text-secondary, light-dark(#565d6b, #a8afbd));
  --line: var(--color-border-primary, light-dark(#d9dce2, #343945));
  --ring: var(--color-ring-primary, light-dark(#2450b2, #9bb8ff));
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: var(--font-text-sm-size, .875rem)/1.5 var(--font-sans, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif);
}
main { padding: .75rem .9rem; }
header, footer { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem; }
h1 { margin: 0; font-size: 1em; font-weight: 600; overflow-wrap: anywhere; }
h2 { margin: .7rem 0 .3rem; font-size: 1em; font-weight: 600; overflow-wrap: anywhere; }
#state:not(:empty) { padding: .05rem .55rem; border: 1px solid currentColor; border-radius: 1rem; font-size: .85em; white-space: nowrap; }
#state.good { color: light-dark(#14663a, #7fd6a4); }
#state.wait { color: light-dark(#7a5600, #f0cb6b); }
#state.bad { color: light-dark(#a3221c, #ffb3ad); }
p { margin: .4rem 0 0; overflow-wrap: anywhere; }
.quiet, caption, th { color: var(--quiet); }
pre, .scroll { max-height: 22rem; overflow: auto; }
pre {
  margin: .5rem 0 0; padding: .4rem 0; border: 1px solid var(--line); border-radius: var(--border-radius-sm, .4rem);
  background: var(--soft); font: .8125rem/1.5 var(--font-mono, ui-monospace, SFMono-Regular, Menlo, Consolas, monospace);
  white-space: pre-wrap; overflow-wrap: anywhere;
}
pre > * { display: block; padding: 0 .6rem; }
pre .numbered { padding-left: 3.6rem; position: relative; }
pre .numbered::before {
  content: attr(data-line); position: absolute; left: 0; width: 3rem; text-align: right; color: var(--quiet); opacity: .9;
}
ins, del { text-decoration: none; }
ins { background: light-dark(#ddf4e4, #16351f); color: light-dark(#0d4a27, #b4ebc8); }
del { background: light-dark(#fde4e2, #43201e); color: light-dark(#7c1d18, #ffc9c5); }
pre .head { color: var(--quiet); }
table { border-collapse: collapse; width: 100%; margin-top: .4rem; }
caption { text-align: left; }
th, td { padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); overflow-wrap: break-word; white-space: pre-line; }
th { font-weight: 500; }
img { display: block; max-width: 100%; max-height: 24rem; margin-top: .5rem; border-radius: var(--border-radius-sm, .4rem); }
summary { cursor: pointer; }
footer:not(:empty) { margin-top: .7rem; }
button {
  padding: .3rem .75rem; font: inherit; font-weight: 500; color: var(--ink); background: var(--soft); cursor: pointer;
  border: 1px solid var(--quiet); border-radius: var(--border-radius-sm, .4rem);
}
button:disabled { opacity: .6; cursor: default; }
details { margin-top: .4rem; }
@media (max-width: 32rem) {
  thead { position: absolute; left: -100rem; }
  tr { display: block; padding: .3rem 0; border-bottom: 1px solid var(--line); }
  td { display: grid; grid-template-columns: 8rem 1fr; gap: .6rem; padding: .1rem 0; border: 0; overflow-wrap: anywhere; }
  td:empty { display: none; }
  td::before { content: attr(data-label); color: var(--quiet); }
}
:focus-visible { outline: 2px solid var(--ring); outline-offset: 2px; }
`;
