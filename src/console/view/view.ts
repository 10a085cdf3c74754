/**
 * The view of a result that clients show in the chat (MCP Apps, SEP-1865): one page, and the state of the caller's held
 * calls, which the page asks for through the client. Nothing is approved there: the client draws the page, and a person
 * decides on a page of this server.
 */
import { type ResourceFamily, viewMediaType, viewUri } from "../../mcp/mod.ts";
import { html, inlineSource, scriptElement, styleElement } from "../../lib/page.ts";
import { type GateOptions, listHeldCalls, pageOf } from "../approvals/gate.ts";

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

// * The view's script, a View of MCP Apps 2026-01-26. It draws what the server says of a call (`_meta["portcullis/view"]`):
// `data` (differences, records, changes that can be undone), `change` (what Undo takes back), `code` and `waiting` (why it
// failed, and the page where it is decided). Text becomes text, never markup. It speaks with the client alone, by messages.

const viewScript = `
"use strict";
(() => {
  const main = document.querySelector("main");
  const [title, state, words, body, acts] = main.querySelectorAll("h1, [role=status], p, div, footer");
  const maxText = 50000, maxColumns = 6, firstLook = 2000, longestPause = 15000;
  let can = {}, tool = {}, input = {}, held = null, repeat = null, isOver = false, timer = 0, lastId = 0;

  // JSON-RPC 2.0 with the client
  const asked = new Map();
  const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const ask = (method, params) => new Promise((resolve, reject) => {
    asked.set(++lastId, { resolve, reject });
    post({ id: lastId, method, params });
  });

  const make = (name, members, ...children) => {
    const element = Object.assign(document.createElement(name), members);
    element.append(...children);
    return element;
  };
  const region = (name, label, ...children) => make(name, { tabIndex: 0, role: "group", ariaLabel: label }, ...children);
  const button = (label, act) => make("button", { type: "button", textContent: label, onclick: async ({ target }) => {
    target.disabled = true;
    await act().catch(({ message }) => tell(message));
    target.disabled = false;
    // where the pressed button has gone, the next one keeps the keyboard in its place
    if (document.hasFocus() && document.activeElement === document.body) (target.isConnected ? target : acts.querySelector("button"))?.focus();
  } });
  const link = (label, url) => can.openLinks && /^https?:/.test(url) ? [button(label, () => ask("ui/open-link", { url }))] : [];
  const tell = (text) => { words.textContent = text; words.hidden = text === ""; };
  const mark = (kind, label, text = "") => { state.className = kind; state.textContent = label; tell(text); };
  const cut = (text) => text.length > maxText ? text.slice(0, maxText) + "\\n(cut here)" : text;
  const textOf = (content = []) => cut(content.map(({ text = "" }) => text).join("\\n"));
  const labelOf = (name) => name.slice(0, 1).toUpperCase() + name.slice(1).replaceAll("_", " ");
  const about = () => [input.path, input.filename, input.id, input.item, input.table].find((each) => typeof each === "string");
  const entitle = (name) => { title.textContent = about() ? name + ": " + about().slice(0, 200) : name; };

  // what shows as nothing, or turns the text around, as its number
  const exact = (text) => text.replace(/\\r(?!\\n|$)|[^\\P{C}\\t\\n\\r]|[\\p{Default_Ignorable_Code_Point}\\p{Zl}\\p{Zp}]/gu,
    (sign) => "\\\\u{" + sign.codePointAt(0).toString(16).toUpperCase() + "}");
  // hunks as "@@ -3,2 +3 @@", lines with their signs, and words of ours between
  const difference = (text, label) => {
    let next = null;
    return region("pre", label, ...exact(cut(text)).split("\\n").map((line) => {
      const hunk = /^@@ -(\\d+)\\S* \\+(\\d+)/.exec(line);
      if (hunk) next = { "-": Number(hunk[1]), "+": Number(hunk[2]) };
      if (hunk || next?.[line[0]] === undefined) return make("span", { className: "head" }, line || " ");
      const element = make(line[0] === "+" ? "ins" : "del", { className: "numbered" }, line);
      element.dataset.line = next[line[0]]++;
      return element;
    }));
  };
  const table = (caption, columns, rows) => region("div", caption, make("table", {},
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...columns.map((column) => make("th", { scope: "col" }, column)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell, at) => {
      const element = make("td", {}, cell instanceof Node ? cell : String(cell ?? ""));
      element.dataset.label = columns[at];
      return element;
    }))))));
  const folded = (summary, text, open = false) =>
    make("details", { open }, make("summary", {}, summary), region("pre", summary, make("span", {}, text)));

  const recordParts = ({ name, title = "", changes, not_taken: notTaken = [], dry_run: isTry, fields = [] }) => [
    make("h2", {}, title && title !== name ? name + ": " + title : name),
    changes
      ? table("Fields that " + (isTry ? "would change" : "changed"), ["Field", "Before", "After"], [
        ...changes.map(({ label, before, after }) =>
          [labelOf(label), before && make("del", {}, before), make("ins", {}, after || "(empty)")]),
        ...notTaken.map(({ name, wanted, now }) => [labelOf(name) + " (not taken)", make("del", {}, wanted), now]),
      ])
      : table("Fields", ["Field", "Value"], fields.map(({ name, value }) => [labelOf(name), value])),
  ];
  const recordList = (records) => {
    const told = records.flatMap(({ name: own, fields }) => fields.filter(({ value }) => value !== "" && value !== own));
    const columns = [...new Set(told.map(({ name }) => name))].slice(0, maxColumns);
    return table(records.length + " records", ["Record", ...columns.map(labelOf)], records.map(({ name, fields }) =>
      [name, ...columns.map((column) => fields.find((field) => field.name === column)?.value)]));
  };
  const parts = ({ diff, path, filename = path, files = [], records = [], changes }, content = []) => {
    const shown = [{ diff, path }, ...files].filter((file) => file.diff).flatMap((file) => [
      ...file.path && file.path !== about() ? [make("h2", {}, file.path)] : [],
      difference(file.diff, "Difference in " + (file.path ?? filename)),
    ]);
    if (records.length > 1 && records[0].fields) shown.push(recordList(records));
    else shown.push(...records.flatMap(recordParts));
    if (changes) shown.push(table("Your last changes", ["Time", "Tool", "Files", "Undo"], changes.map((each) => [
      new Date(each.time).toLocaleString(), each.tool, each.paths.join(", "), each.undone_by ? "undone" : undo(each.change),
    ])));
    for (const { mimeType, data } of content.filter((each) => each.type === "image" && each.mimeType.startsWith("image/"))) {
      shown.push(make("img", { src: "data:" + mimeType + ";base64," + data, alt: filename ?? "Picture" }));
    }
    const text = textOf(content);
    if (shown.length > 0 || text === "") return shown;
    return [text.length > 300 ? folded(filename ?? "Text", text) : make("p", {}, text)];
  };

  const undo = (change, label = "Undo") => can.serverTools ? button(label, async () => {
    repeat = () => undo(change, label);
    [tool, input, isOver] = [{ name: "file_undo" }, { change }, false];
    mark("", "Running");
    watch();
    const result = await ask("tools/call", { name: tool.name, arguments: input });
    show(result, label === "Undo" ? "Undone" : "Done");
    const text = "The user chose " + label + " in the view: " + textOf(result.content);
    if (can.updateModelContext) await ask("ui/update-model-context", { content: [{ type: "text", text }] });
  }) : "";
  const show = ({ isError, content, structuredContent, _meta }, done = "Done") => {
    const own = _meta?.["portcullis/view"] ?? {};
    const { data = structuredContent ?? {}, change, code = "", waiting } = own;
    const { records = [] } = data;
    end();
    if (own.title) entitle(own.title);
    if (waiting) return wait({ ...waiting, state: "waiting" });
    if (isError) mark("bad", code.startsWith("denied") ? "Denied" : "Failed");
    else mark("good", data.changed === false || records.some((each) => each.dry_run) ? "Dry run" : done);
    body.replaceChildren(...isError ? [make("p", {}, textOf(content))] : parts(data, content));
    const isChange = change || records.some(({ changes }) => changes);
    const page = main.dataset.console + (change ? "/change?id=" + change : "");
    acts.replaceChildren(
      ...change ? [undo(change, done === "Undone" ? "Redo" : "Undo")] : [],
      ...records.length === 1 ? link("Open in ServiceNow", records[0].link) : [],
      ...isChange ? link("Open in the console", page) : [],
    );
  };

  const end = () => {
    clearTimeout(timer);
    [isOver, held] = [true, null];
  };

  // a call that waits for a person: what became of it is read until it is decided and made
  const wait = (call) => {
    held = call;
    const isWaiting = call.state === "waiting", isApproved = call.state === "approved", where = can.openLinks ? "" : " " + call.url;
    mark(...{
      waiting: ["wait", "Waits for your approval", "Nothing is done before you approve it in the console." + where],
      approved: ["good", "Approved", isOver && !repeat ? "The agent has to make the call again." : ""],
      denied: ["bad", "Denied", call.word],
      made: ["good", "Done", "The agent made the approved call."],
      gone: ["bad", "Expired", "This call no longer waits."],
    }[call.state]);
    body.replaceChildren(folded("Arguments", cut(JSON.stringify(input, null, 2)), isWaiting));
    const text = "Approved in the console: call " + (tool.name ?? "the tool") + " again with the same arguments.";
    const goOn = repeat ? [repeat()]
      : can.message ? [button("Tell the agent", () => ask("ui/message", { role: "user", content: [{ type: "text", text }] }))] : [];
    acts.replaceChildren(...isWaiting ? link("Decide in the console", call.url) : isApproved && isOver ? goOn : []);
    if (isWaiting || isApproved) watch();
  };
  const watch = (pause = firstLook) => {
    clearTimeout(timer);
    if (can.serverResources) timer = setTimeout(look, pause, pause);
  };
  const look = async (pause) => {
    const calls = document.hidden ? null : await ask("resources/read", { uri: main.dataset.calls })
      .then(({ contents: [{ text }] }) => JSON.parse(text)).catch(() => null);
    if (isOver && held === null) return;
    const waiting = (calls ?? []).filter((call) => call.state === "waiting" && call.tool === (tool.name ?? call.tool));
    const ofInput = waiting.filter(({ places }) => places.includes(about()));
    const [call, ...others] = ofInput.length > 0 ? ofInput : waiting;
    const now = held ? calls?.find(({ id }) => id === held.id) : others.length > 0 ? undefined : call; // in doubt none
    if (now && now.state !== held?.state) return wait(now);
    if (calls && held && !now && isOver) return wait({ ...held, state: held.state === "approved" ? "made" : "gone" });
    watch(Math.min(pause * 1.2, longestPause));
  };

  const follow = ({ theme, styles: { variables = {} } = {} }) => {
    const { style } = document.documentElement;
    if (theme) style.colorScheme = theme;
    for (const [name, value] of Object.entries(variables)) if (name.startsWith("--") && value) style.setProperty(name, value);
  };
  const heard = new Map(Object.entries({
    "ui/notifications/host-context-changed": follow,
    "ui/notifications/tool-input": ({ arguments: given = {} }) => {
      input = given;
      entitle(title.textContent);
      mark("", "Running");
      watch();
    },
    "ui/notifications/tool-result": (result) => show(result),
    "ui/notifications/tool-cancelled": () => { end(); mark("bad", "Cancelled"); acts.replaceChildren(); },
    "ui/resource-teardown": end,
    ping: () => {},
  }));
  addEventListener("message", ({ source, data }) => {
    if (source !== parent || data?.jsonrpc !== "2.0") return;
    const { id, method, params = {}, error, result } = data;
    if (method === undefined) return error ? asked.get(id)?.reject(error) : asked.get(id)?.resolve(result);
    heard.get(method)?.(params);
    if (id !== undefined) post(heard.has(method) ? { id, result: {} } : { id, error: { code: -32601, message: "Method not found" } });
  });
  new ResizeObserver(() => post({
    method: "ui/notifications/size-changed", params: { height: Math.ceil(main.getBoundingClientRect().height) },
  })).observe(main);
  const appCapabilities = { availableDisplayModes: ["inline"] };
  ask("ui/initialize", { appInfo: { name: "portcullis", version: "1" }, appCapabilities, protocolVersion: "2026-01-26" })
    .then(({ hostCapabilities, hostContext = {} }) => {
      [can, tool] = [hostCapabilities, hostContext.toolInfo?.tool ?? {}];
      title.textContent = tool.title ?? "Portcullis";
      follow(hostContext);
      post({ method: "ui/notifications/initialized", params: {} });
    });
})();
`;
