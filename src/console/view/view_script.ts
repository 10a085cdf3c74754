/**
 * The view's script, a View of MCP Apps 2026-01-26. It draws what the server says of a call (`_meta["portcullis/view"]`):
 * `data` (differences, records, changes that can be undone), `change` (what Undo takes back), `code` and `waiting` (why it
 * failed, and the page where it is decided). Text becomes text, never markup. It speaks with the client alone, by messages.
 */
export const viewScript = `
"use strict";
(() => {
  const main = document.querySelector("main");
  const [title, state, words, body, acts] = ["title", "state", "words", "body", "acts"].map((id) => document.getElementById(id));
  const maxText = 20000, maxColumns = 6;

  // JSON-RPC 2.0 with the client
  let lastId = 0;
  const asked = new Map();
  const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const ask = (method, params) => new Promise((resolve, reject) => {
    asked.set(++lastId, { resolve, reject });
    post({ id: lastId, method, params });
  });
  let can = {}, tool = {}, place = {}, input = {}, held = null, isOver = false, look = 0;

  const make = (name, members = {}, ...children) => {
    const element = Object.assign(document.createElement(name), members);
    element.append(...children);
    return element;
  };
  const button = (label, act) => make("button", { type: "button", textContent: label, onclick: async ({ target }) => {
    target.disabled = true;
    try { await act(); } catch (error) { say(String(error.message ?? error)); }
    target.disabled = false;
  } });
  const link = (label, url) => can.openLinks && /^https?:/.test(url ?? "") ? [button(label, () => ask("ui/open-link", { url }))] : [];
  const say = (text = "") => { words.textContent = text; words.hidden = text === ""; };
  const mark = (kind, text) => { state.className = kind; if (state.textContent !== text) state.textContent = text; };

  // a difference: hunks as "@@ -3,2 +3 @@", lines with their signs, and words of ours between
  const difference = (text, label) => {
    let [before, after] = [0, 0];
    const lines = text.slice(0, maxText).split("\\n").map((line) => {
      const hunk = /^@@ -(\\d+)(?:,\\d+)? \\+(\\d+)/.exec(line);
      if (hunk) [before, after] = [Number(hunk[1]), Number(hunk[2])];
      const sign = before > 0 || after > 0 ? line[0] : "";
      if (hunk || (sign !== "+" && sign !== "-")) return make("span", { className: "head" }, line || " ");
      const element = make(sign === "+" ? "ins" : "del", { className: "numbered" }, line);
      element.dataset.line = sign === "+" ? after++ : before++;
      return element;
    });
    return make("pre", { tabIndex: 0, role: "group", ariaLabel: label }, ...lines);
  };
  const table = (caption, columns, rows) => make("div", { className: "scroll", tabIndex: 0, role: "group", ariaLabel: caption },
    make("table", {},
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...columns.map((column) => make("th", { scope: "col" }, column)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell, at) => {
        const element = make("td", {}, cell instanceof Node ? cell : String(cell ?? ""));
        element.dataset.label = columns[at];
        return element;
      }))))));
  const folded = (summary, text, open = false) => make("details", { open }, make("summary", {}, summary),
    make("pre", { tabIndex: 0, role: "group", ariaLabel: summary }, make("span", {}, text.slice(0, maxText))));
  const labelOf = (name) => name.slice(0, 1).toUpperCase() + name.slice(1).replaceAll("_", " ");
  const heading = ({ name = "", title = "" }) => make("h2", {}, title && title !== name ? name + ": " + title : name);

  const changed = (record) => {
    const { changes = [], not_taken: notTaken = [] } = record;
    const rows = changes.map(({ label, before, after }) =>
      [labelOf(label), before === "" ? "" : make("del", {}, before), make("ins", {}, after || "(empty)")]);
    for (const { name, wanted, now } of notTaken) rows.push([labelOf(name) + " (not taken)", make("del", {}, wanted), now]);
    return [heading(record), table("Fields that " + (record.dry_run ? "would change" : "changed"), ["Field", "Before", "After"], rows)];
  };
  const found = (records) => {
    if (records.length === 1) {
      return [heading(records[0]), table("Fields", ["Field", "Value"], records[0].fields.map(({ name, value }) => [labelOf(name), value]))];
    }
    const others = records.flatMap((record) => record.fields.filter(({ value }) => value !== "" && value !== record.name));
    const columns = [...new Set(others.map(({ name }) => name))].slice(0, maxColumns);
    const rows = records.map(({ name, fields }) =>
      [name, ...columns.map((column) => fields.find((field) => field.name === column)?.value)]);
    return [table(records.length + " records", ["Record", ...columns.map(labelOf)], rows)];
  };
  const parts = ({ diff, path, filename, files = [], records = [], changes }, content) => {
    const shown = [];
    for (const file of [{ diff, path }, ...files]) {
      if (!file.diff) continue;
      if (file.path && file.path !== about()) shown.push(make("h2", {}, file.path));
      shown.push(difference(file.diff, "Difference" + (file.path ?? filename ? " in " + (file.path ?? filename) : "")));
    }
    for (const record of records) if (record.changes) shown.push(...changed(record));
    const others = records.filter(({ fields }) => fields);
    if (others.length > 0) shown.push(...found(others));
    if (changes) {
      shown.push(table("Your last changes", ["Time", "Tool", "Files", "Undo"], changes.map((each) => [
        new Date(each.time).toLocaleString(place.locale, { timeZone: place.timeZone }), each.tool, each.paths.join(", "),
        each.undone_by ? "undone" : undoButton(each.change),
      ])));
    }
    for (const { type, mimeType = "", data } of content) {
      if (type !== "image" || !mimeType.startsWith("image/")) continue;
      shown.push(make("img", { src: "data:" + mimeType + ";base64," + data, alt: path ?? filename ?? "Picture" }));
    }
    if (shown.length > 0) return shown;
    const text = content.map(({ text }) => text ?? "").join("\\n");
    const isLong = text.length > 300 || text.split("\\n").length > 4;
    if (!isLong) return text === "" ? [] : [make("p", {}, text)];
    return [folded(path ?? filename ?? "Text", text)];
  };

  const undoButton = (change, label = "Undo") => can.serverTools ? button(label, async () => {
    const result = await ask("tools/call", { name: "file_undo", arguments: { change } });
    show(result, label === "Undo" ? "Undone" : "Done");
    const told = "The user chose " + label + " in the view: " + textOf(result);
    if (can.updateModelContext) await ask("ui/update-model-context", { content: [{ type: "text", text: told }] });
  }) : "";
  const textOf = ({ content = [] }) => content.map(({ text }) => text ?? "").join("\\n");

  const about = () => [input.path, input.filename, input.id, input.item, input.table].find((each) => typeof each === "string");
  const entitle = (name) => { title.textContent = about() ? name + ": " + about().slice(0, 200) : name; };
  const show = (result, done = "Done") => {
    const own = result._meta?.["portcullis/view"] ?? {};
    const { data = result.structuredContent ?? {}, change, code = "", waiting } = own;
    if (own.title) entitle(own.title);
    isOver = true;
    say();
    if (waiting) return wait({ ...waiting, state: "waiting" });
    const isTry = data.changed === false || (data.records ?? []).some((record) => record.dry_run);
    if (!result.isError) mark("good", isTry ? "Dry run" : done);
    else mark("bad", code.startsWith("denied") ? "Denied" : "Failed");
    body.replaceChildren(...result.isError ? [make("p", {}, textOf(result).slice(0, maxText))] : parts(data, result.content ?? []));
    const file = data.path ?? data.filename ?? data.paths?.[0];
    const filter = file && change ? "/audit?" + new URLSearchParams({ target: file }) : "";
    const [record] = data.records ?? [];
    acts.replaceChildren(
      ...change ? [undoButton(change, done === "Undone" ? "Redo" : "Undo")] : [],
      ...data.records?.length === 1 ? link("Open in ServiceNow", record.link) : [],
      ...change || (data.records ?? []).some(({ changes }) => changes) ? link("Open in the console", main.dataset.console && main.dataset.console + filter) : [],
    );
  };

  // a call that waits for a person: what became of it is read until it is decided and made
  const wait = (call) => {
    held = call;
    const states = {
      waiting: ["wait", "Waits for your approval", "Nothing is done before you approve it in the console."],
      approved: ["good", "Approved", isOver ? "The agent has to make the call again." : ""],
      denied: ["bad", "Denied", call.word ?? ""],
      made: ["good", "Done", "The agent made the approved call."],
      gone: ["bad", "Expired", "This call no longer waits."],
    };
    const [kind, label, text] = states[call.state];
    mark(kind, label);
    say(call.state === "waiting" && !can.openLinks ? text + " " + call.url : text);
    if (!isOver || call.state === "waiting") body.replaceChildren(folded("Arguments", JSON.stringify(input, null, 2), true));
    const retry = "Approved in the console: call " + (tool.name ?? "the tool") + " again with the same arguments.";
    acts.replaceChildren(
      ...call.state === "waiting" ? link("Decide in the console", call.url) : [],
      ...call.state === "approved" && isOver && can.message
        ? [button("Tell the agent", () => ask("ui/message", { role: "user", content: [{ type: "text", text: retry }] }))]
        : [],
    );
    if (call.state === "waiting" || call.state === "approved") watch();
  };
  const watch = (delay = 2000) => {
    clearTimeout(look);
    if (!can.serverResources) return;
    look = setTimeout(async () => {
      if (isOver && held === null) return;
      const read = document.hidden ? null : await ask("resources/read", { uri: main.dataset.calls }).catch(() => null);
      if (read && !(isOver && held === null)) {
        const calls = JSON.parse(read.contents[0].text);
        const now = held ? calls.find(({ id }) => id === held.id) : calls.find((call) => call.state === "waiting" && call.tool === (tool.name ?? call.tool));
        if (now && now.state !== held?.state) return wait(now);
        if (held && !now && isOver) return wait({ ...held, state: held.state === "approved" ? "made" : "gone" });
      }
      watch(Math.min(delay * 1.2, 15000));
    }, delay);
  };

  const theme = ({ theme: scheme, styles, locale, timeZone }) => {
    place = { locale: locale ?? place.locale, timeZone: timeZone ?? place.timeZone };
    const { style } = document.documentElement;
    if (scheme === "light" || scheme === "dark") style.colorScheme = scheme;
    for (const [name, value] of Object.entries(styles?.variables ?? {})) if (name.startsWith("--") && value) style.setProperty(name, value);
  };
  const heard = new Map([
    ["ui/notifications/host-context-changed", theme],
    ["ui/notifications/tool-input", ({ arguments: given = {} }) => {
      input = given;
      entitle(title.textContent);
      if (!isOver) { mark("", "Running"); watch(); }
    }],
    ["ui/notifications/tool-result", (result) => { held = null; show(result); }],
    ["ui/notifications/tool-cancelled", () => { isOver = true; held = null; mark("bad", "Cancelled"); acts.replaceChildren(); }],
  ]);
  addEventListener("message", ({ source, data }) => {
    if (source !== parent || data?.jsonrpc !== "2.0") return;
    if (data.method === undefined) {
      const { resolve, reject } = asked.get(data.id) ?? {};
      asked.delete(data.id);
      return data.error ? reject?.(data.error) : resolve?.(data.result);
    }
    if (data.id === undefined) return heard.get(data.method)?.(data.params ?? {});
    if (data.method === "ui/resource-teardown") { isOver = true; held = null; }
    const isKnown = data.method === "ui/resource-teardown" || data.method === "ping";
    post({ id: data.id, ...isKnown ? { result: {} } : { error: { code: -32601, message: "Method not found" } } });
  });
  new ResizeObserver(() => post({
    method: "ui/notifications/size-changed",
    params: { width: Math.ceil(main.scrollWidth), height: Math.ceil(main.getBoundingClientRect().height) },
  })).observe(main);
  ask("ui/initialize", {
    appInfo: { name: "portcullis", version: "1" },
    appCapabilities: { availableDisplayModes: ["inline"] },
    protocolVersion: "2026-01-26",
  }).then(({ hostCapabilities = {}, hostContext = {} }) => {
    can = hostCapabilities;
    tool = hostContext.toolInfo?.tool ?? {};
    title.textContent = tool.title ?? tool.annotations?.title ?? tool.name ?? "Portcullis";
    theme(hostContext);
    post({ method: "ui/notifications/initialized", params: {} });
  });
})();
`;
