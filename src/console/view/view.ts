/**
 * The view of a result that clients show in the chat (MCP Apps, SEP-1865): one page, and the state of the caller's held
 * calls, which the page asks for through the client. Nothing is approved there: the client draws the page, and a person
 * decides on a page of this server.
 */
import { type ResourceFamily, viewMediaType, viewUri } from "../../mcp/mod.ts";
import { html, inlineSource, scriptElement, styleElement } from "../../lib/page.ts";
import { listHeldCalls } from "../approvals/decisions.ts";
import { type GateOptions, pageOf } from "../approvals/gate.ts";
import { viewScript } from "./view_script.ts";

/** Where the view learns what became of the calls that wait: those of the same person, client and grant. */
const callsUri = "portcullis://calls";

/** `pageUrl` is where people decide, and `consoleUrl` the console; `null` where it is off. */
export function viewResource(
  { storage, pageUrl, consoleUrl }: Pick<GateOptions, "storage" | "pageUrl"> & { readonly consoleUrl: string | null },
): ResourceFamily {
  let page: string | undefined;
  return {
    name: "view",
    scopes: [],
    owns: (uri) => uri === viewUri || uri === callsUri,
    list: () => [], // tools name the view (SEP-1865, resource discovery)
    templates: [],
    async read(uri, { principal: { subject, clientId, grantId } }) {
      if (uri === viewUri) {
        page ??= viewPage(consoleUrl);
        return { contents: [{ uri, mimeType: viewMediaType, text: page, _meta: { ui: { prefersBorder: true } } }] };
      }
      const held = pageUrl === null ? [] : await listHeldCalls(storage);
      const own = held.filter((call) =>
        call.person === subject && call.clientId === clientId && call.grantId === grantId
      ).map(({ id, tool, places, state, word }) => ({ id, tool, places, state, word, url: pageOf(pageUrl ?? "", id) }));
      return { contents: [{ uri, mimeType: "application/json", text: JSON.stringify(own) }] };
    },
    cacheHint: { ttlMs: 0, cacheScope: "private" },
  };
}

/** Its policy is inside, should a client set none: its own style and script, pictures from its data, and no network. */
function viewPage(consoleUrl: string | null): string {
  const own = `style-src ${inlineSource(viewStylesheet)}; script-src ${inlineSource(viewScript)}; img-src data:`;
  const page = html`
    <html lang="en">
      <head><meta charset="utf-8"><title>Portcullis</title>
        <meta http-equiv="Content-Security-Policy"
          content="default-src 'none'; ${own}; base-uri 'none'; form-action 'none'">
        ${styleElement(viewStylesheet)}</head>
      <body>
        <main data-console="${consoleUrl ?? ""}" data-calls="${callsUri}">
          <header><h1>Portcullis</h1><span role="status"></span></header><p hidden></p><div></div><footer></footer>
        </main>
        ${scriptElement(viewScript)}</body>
    </html>
  `;
  return `<!DOCTYPE html>${page.markup.trimStart()}`;
}

/** Colours and type are the host's where it names them (SEP-1865, theming), else the console's. */
const viewStylesheet = `
:root {
  color-scheme: light dark; --corner: var(--border-radius-sm, .4rem);
  --ground: var(--color-background-primary, light-dark(#fff, #1b1e25)); --ink: var(--color-text-primary, light-dark(#1a1d23, #eceef2));
  --soft: var(--color-background-secondary, light-dark(#f5f7fb, #232731));
  --quiet: var(--color-text-secondary, light-dark(#565d6b, #a8afbd));
  --line: var(--color-border-primary, light-dark(#d9dce2, #343945)); --ring: var(--color-ring-primary, light-dark(#2450b2, #9bb8ff));
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); }
main { padding: .75rem .9rem; overflow-wrap: anywhere; }
main { font: var(--font-text-sm-size, .875rem)/1.5 var(--font-sans, system-ui, sans-serif); }
header, footer { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem; }
h1, h2 { margin: 0; font-size: 1em; font-weight: 600; }
h2, footer:not(:empty) { margin-top: .7rem; }
header span:not(:empty) { padding: .05rem .55rem; border: 1px solid currentColor; border-radius: 1rem; font-size: .85em; }
.good { color: light-dark(#14663a, #7fd6a4); } .wait { color: light-dark(#7a5600, #f0cb6b); } .bad { color: light-dark(#a3221c, #ffb3ad); }
p, details, table { margin: .4rem 0 0; }
caption, th, .head { color: var(--quiet); text-align: left; font-weight: 500; }
[role=group] { max-height: 22rem; overflow: auto; }
pre { margin: .5rem 0 0; padding: .4rem 0; border: 1px solid var(--line); border-radius: var(--corner); background: var(--soft); }
pre > * { display: block; padding: 0 .6rem; white-space: pre-wrap; font: .8125rem/1.5 var(--font-mono, ui-monospace, Consolas, monospace); }
pre .numbered { padding-left: 3.6rem; position: relative; }
.numbered::before { content: attr(data-line); position: absolute; left: 0; width: 3rem; text-align: right; }
ins, del { background: light-dark(#ddf4e4, #16351f); color: light-dark(#0d4a27, #b4ebc8); text-decoration: none; }
del { background: light-dark(#fde4e2, #43201e); color: light-dark(#7c1d18, #ffc9c5); }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .25rem .75rem .25rem 0; vertical-align: top; border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
td { white-space: pre-line; }
img { display: block; max-width: 100%; max-height: 24rem; margin-top: .5rem; border-radius: var(--corner); }
button {
  padding: .3rem .75rem; font: inherit; color: inherit; background: var(--soft);
  border: 1px solid var(--quiet); border-radius: var(--corner);
}
button:disabled { opacity: .6; }
:focus-visible { outline: 2px solid var(--ring); outline-offset: 2px; }
@media (max-width: 32rem) {
  thead { position: absolute; left: -100rem; }
  tr { display: block; padding: .3rem 0; border-bottom: 1px solid var(--line); }
  td { display: grid; grid-template-columns: 8rem 1fr; gap: .6rem; padding: .1rem 0; border: 0; overflow-wrap: anywhere; }
  td:empty { display: none; }
  td::before { content: attr(data-label); color: var(--quiet); }
}
`;
