/**
 * The view of a result that clients show in the chat (MCP Apps, SEP-1865): one page, and the state of the caller's held
 * calls, which the page asks for through the client. Nothing is approved there: the client draws the page, and a person
 * decides on a page of this server.
 */
import { type ResourceFamily, viewMediaType, viewUri } from "../../mcp/mod.ts";
import { html, inlineSource, scriptElement, styleElement } from "../../lib/page.ts";
import type { Storage } from "../../storage/mod.ts";
import { listHeldCalls } from "../approvals/decisions.ts";
import { pageOf } from "../approvals/gate.ts";
import { viewScript } from "./view_script.ts";
import { viewStylesheet } from "./view_style.ts";

/** Where the view learns what became of the calls that wait: those of the same person, client and grant. */
const callsUri = "portcullis://calls";

/** `pageUrl` is where people decide, and `consoleUrl` the console; `null` where it is off. */
export function viewResource(
  { storage, pageUrl, consoleUrl }: {
    readonly storage: Storage;
    readonly pageUrl: string | null;
    readonly consoleUrl: string | null;
  },
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
