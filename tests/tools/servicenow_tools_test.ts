import assert from "node:assert/strict";
import { z } from "zod";
import type { Tool, ToolOutcome } from "../../src/mcp/tool.ts";
import { workspaceFiles } from "../../src/tools/servicenow/files.ts";
import { servicenowTools } from "../../src/tools/servicenow/servicenow_tools.ts";
import { openDiskWorkspace } from "../../src/workspace/disk/disk_workspace.ts";
import { defaultWorkspaceLimits } from "../../src/workspace/limits.ts";
import { offeredScopes } from "../../src/scopes.ts";
import { sysId } from "../fixtures/servicenow/world.ts";
import { callTool } from "../servicenow/call_tool.ts";
import { fingerprintTree } from "../workspace/confined_base.ts";
import { openPlace, type Place } from "../servicenow/place.ts";

interface ToolPlace extends AsyncDisposable {
  readonly place: Place;
  readonly root: string;
  readonly tools: readonly Tool[];
  readonly call: (name: string, input: unknown, subject?: string) => Promise<ToolOutcome>;
}

async function openTools(writing = true): Promise<ToolPlace> {
  const place = await openPlace();
  const root = await Deno.makeTempDir({ prefix: "portcullis-servicenow-files-" });
  const workspace = openDiskWorkspace({ root, limits: defaultWorkspaceLimits, hardLinks: "refuse" });
  const tools = servicenowTools(place.servicenow, { files: workspaceFiles(workspace), writing });
  await place.link("one", "ada");
  await place.link("two", "ben");
  return {
    place,
    root,
    tools,
    call: (name, input, subject = "one") => callTool(tools.find((tool) => tool.name === name), input, subject),
    async [Symbol.asyncDispose]() {
      await workspace.close();
      await place[Symbol.asyncDispose]();
      await Deno.remove(root, { recursive: true });
    },
  };
}

function structured(outcome: ToolOutcome): Readonly<Record<string, unknown>> {
  assert.ok(outcome.ok, outcome.ok ? "" : outcome.message);
  return outcome.structuredContent ?? {};
}

function refusal(outcome: ToolOutcome): string {
  assert.ok(!outcome.ok);
  return `${outcome.code}: ${outcome.message}`;
}

Deno.test("servicenow tools: writing ones are offered only when the operator turned writing on", async () => {
  await using on = await openTools();
  await using off = await openTools(false);
  const writers = (tools: readonly Tool[]) => tools.filter(({ scopes }) => scopes.includes("servicenow:write"));
  assert.equal(writers(on.tools).length, 3);
  assert.equal(writers(off.tools).length, 0);
  assert.equal(off.tools.length, 5);
  for (const { annotations, scopes } of on.tools) {
    const changes = scopes.includes("servicenow:write") || scopes.includes("files:write");
    assert.equal(annotations.readOnlyHint, !changes);
  }
});

Deno.test("servicenow tools: flat primitive inputs, short names, a description for each parameter", async () => {
  await using place = await openTools();
  const known = new Set(offeredScopes({ servicenow: "write" }));
  for (const { name, input, scopes } of place.tools) {
    assert.match(name, /^servicenow_[a-z_]{1,38}$/);
    for (const scope of scopes) assert.ok(known.has(scope), scope);
    const schema = z.toJSONSchema(input, { io: "input" }) as unknown as {
      readonly type: string;
      readonly properties: Readonly<Record<string, { readonly type?: string; readonly description?: string }>>;
    };
    assert.equal(schema.type, "object");
    for (const [parameter, { type, description }] of Object.entries(schema.properties)) {
      assert.ok(["string", "integer", "boolean"].includes(type ?? ""), `${name}.${parameter} is ${type}`);
      assert.ok(description, `${name}.${parameter}`);
    }
  }
});

Deno.test("servicenow_get_record answers by sys_id and by number, whole or some fields", async () => {
  await using place = await openTools();
  const whole = structured(await place.call("servicenow_get_record", { table: "incident", id: " inc0010001 " }));
  assert.equal(whole["sys_id"], sysId("1c", 1));
  assert.match(String(whole["self_link"]), /^http.*incident\.do/);
  const some = structured(
    await place.call("servicenow_get_record", { table: "incident", id: sysId("1c", 1), fields: "number, state" }),
  );
  assert.deepEqual(some["record"], {
    sys_id: sysId("1c", 1),
    number: "INC0010001",
    state: { value: "2", display_value: "In Progress" },
  });
  const catalog = structured(await place.call("servicenow_get_record", { table: "catalog", id: sysId("5c") }));
  assert.equal((catalog["record"] as { name: string }).name, "Standard Laptop");
});

Deno.test("servicenow_get_record refuses what is no id or no field, before any call", async () => {
  await using place = await openTools();
  const get = (input: object) => place.call("servicenow_get_record", { table: "incident", ...input });
  assert.match(refusal(await get({ id: "42" })), /servicenow_invalid_record_id: Invalid sys_id format\. Use 32 hex/);
  for (const fields of ["caller_id.user_password", "number^x", "number&sysparm_view=x", "javascript:1"]) {
    assert.match(refusal(await get({ id: sysId("1c", 1), fields })), /is not a field name/, fields);
  }
  assert.match(refusal(await get({ id: sysId("1c", 1), table: "sys_user" })), /invalid_input/);
  assert.equal(place.place.instance.requests.length, 0);
});

Deno.test("servicenow_get_record cuts long values, says which, and escapes what misleads", async () => {
  await using place = await openTools();
  const record = place.place.instance.tables.get("incident")?.get(sysId("1c", 1));
  assert.ok(record);
  record["description"] = "🦀".repeat(20_000);
  record["short_description"] = "safe \u202egnp.exe";
  const outcome = await place.call("servicenow_get_record", { table: "incident", id: "INC0010001" });
  const { record: shown, truncated_fields: cut } = structured(outcome) as {
    record: Record<string, string>;
    truncated_fields: string[];
  };
  assert.deepEqual(cut, ["description"]);
  assert.equal(shown["description"], `${"🦀".repeat(10_000)}…`);
  assert.ok(outcome.ok && outcome.content[0]?.type === "text");
  assert.match(outcome.content[0].text, /safe \\u202egnp/);
  assert.deepEqual(JSON.parse(outcome.content[0].text), outcome.structuredContent);
});

Deno.test("servicenow_search pages, filters, and shows each person their own", async () => {
  await using place = await openTools();
  const first = structured(
    await place.call("servicenow_search", { table: "incident", limit: 4, order_by: "number", descending: false }),
  ) as { records: { record: { number: string } }[]; total: number; next_offset: number };
  assert.deepEqual(first.records.map(({ record }) => record.number).at(-1), "INC0010004");
  assert.equal(first.total, 15);
  assert.equal(first.next_offset, 4);
  const rest = structured(
    await place.call("servicenow_search", { table: "incident", active: true, text: "", caller: "me", state: "2" }),
  ) as { records: unknown[]; next_offset: number | null };
  assert.equal(rest.records.length, 1);
  assert.equal(rest.next_offset, null);
  const bens = structured(await place.call("servicenow_search", { table: "incident", limit: 50 }, "two"));
  assert.equal((bens["records"] as unknown[]).length, 1);
  for (const [table, text] of [["kb_knowledge", "mail queue"], ["catalog", "laptop"], ["change_request", "disks"]]) {
    const found = structured(await place.call("servicenow_search", { table, text }));
    assert.equal((found["records"] as unknown[]).length, 1, table);
  }
});

Deno.test("servicenow_search takes no encoded query and no limit beyond the server's", async () => {
  await using place = await openTools();
  const search = (input: object) => place.call("servicenow_search", { table: "incident", ...input });
  assert.match(refusal(await search({ limit: 51 })), /invalid_input/);
  assert.match(refusal(await search({ offset: -1 })), /invalid_input/);
  assert.match(refusal(await search({ order_by: "number^active=true" })), /cannot be ordered by/);
  assert.match(refusal(await search({ fields: "number,sys_domain" })), /no readable field sys_domain/);
  assert.match(refusal(await search({ category: "javascript:gs.log(1)" })), /must not be a script/);
  assert.equal(place.place.instance.requests.length, 0);
  await search({ query: "active=true", sysparm_query: "active=true", text: "nothing has this" });
  assert.match(
    place.place.instance.requests[0]?.query.get("sysparm_query") ?? "",
    /^short_descriptionLIKEnothing has this\^ORdescriptionLIKEnothing has this\^ORDERBYDESCsys_updated_on$/,
  );
});

Deno.test("servicenow_add_comment says when ServiceNow dropped the entry", async () => {
  await using place = await openTools();
  const comment = { table: "incident", id: "INC0010002", text: "The new one is here." };
  const shown = await place.call("servicenow_add_comment", comment, "two");
  assert.equal(structured(shown)["confirmed"], true);
  const dropped = await place.call("servicenow_add_comment", { ...comment, kind: "work_notes" }, "two");
  assert.equal(structured(dropped)["confirmed"], false);
  assert.ok(dropped.ok && dropped.content[0]?.type === "text");
  assert.match(dropped.content[0].text, /may not allow work_notes/);
  assert.match(refusal(await place.call("servicenow_add_comment", { ...comment, table: "catalog" })), /invalid_input/);
});

Deno.test("servicenow_create_incident opens one and leaves out what was not given", async () => {
  await using place = await openTools();
  const incident = { short_description: "The screen flickers", description: "", urgency: "2" };
  const created = structured(await place.call("servicenow_create_incident", incident, "two"));
  assert.equal((created["record"] as { number: string }).number, "INC0010016");
  const stored = place.place.instance.tables.get("incident")?.get(String(created["sys_id"]));
  assert.equal(stored?.["urgency"], "2");
  assert.equal(stored?.["caller_id"], sysId("b2"));
});

Deno.test("attachments go to the workspace and back, inside the workspace only", async () => {
  await using place = await openTools();
  const listed = structured(
    await place.call("servicenow_list_attachments", { table: "incident", id: "INC0010001" }),
  ) as { attachments: { attachment_id: string }[] };
  const id = listed.attachments[0]?.attachment_id;
  const saved = structured(await place.call("servicenow_save_attachment", { attachment_id: id }));
  assert.equal(saved["filename"], "mx-01.log");
  await place.call("servicenow_save_attachment", { attachment_id: id, filename: "logs/mail.log" });
  assert.equal(await Deno.readTextFile(`${place.root}/logs/mail.log`), "mx-01: disk 100% full\n");
  const outside = await place.call("servicenow_save_attachment", { attachment_id: id, filename: "../mail.log" });
  assert.match(refusal(outside), /Invalid filename - path traversal not allowed/);

  const added = structured(
    await place.call("servicenow_add_attachment", {
      table: "incident",
      id: "INC0010002",
      filename: "logs/mail.log",
    }, "two"),
  );
  assert.equal(added["file_name"], "mail.log");
  const absent = { table: "incident", id: "INC0010002", filename: "absent.txt" };
  assert.match(refusal(await place.call("servicenow_add_attachment", absent)), /not_found: Failed to read file/);
});

/** An attachment with some text and this name. */
async function attach({ call, root, place }: ToolPlace, name: string): Promise<string> {
  await Deno.mkdir(`${root}/from`, { recursive: true });
  await Deno.writeTextFile(`${root}/from/page.txt`, "of a stranger");
  const input = { table: "incident", id: "INC0010001", filename: "from/page.txt" };
  const id = String(structured(await call("servicenow_add_attachment", input))["attachment_id"]);
  place.instance.changeAttachment(id, { file_name: name });
  return id;
}

Deno.test("an attachment's own name cannot become a path, nor a name that misleads or that no file can have", async () => {
  await using place = await openTools();
  for (
    const [name, expected] of [
      ["../../etc/passwd", "_.._etc_passwd"],
      ["a\\b:c.txt", "a_b_c.txt"],
      ["..", "attachment"],
      ["", "attachment"],
      [". . bashrc", "bashrc"],
      [".git", "git"],
      [".portcullis", "portcullis"],
      ["end. ", "end"],
      ["CON.txt", "attachment"],
      ["re\u202etxt.exe", "re_txt.exe"],
      ["half\ud800.txt", "half\ufffd.txt"],
      ["\u4e2d".repeat(200) + ".pdf", "\u4e2d".repeat(38) + ".pdf"],
      ["\ud83d\ude00".repeat(100), "\ud83d\ude00".repeat(30)],
    ] as const
  ) {
    const saved = await place.call("servicenow_save_attachment", { attachment_id: await attach(place, name) });
    const { filename } = structured(saved);
    if (expected === "attachment") assert.match(String(filename), /^attachment(?: \(\d+\))?$/);
    else assert.equal(filename, expected);
    assert.equal(await Deno.readTextFile(`${place.root}/${filename}`), "of a stranger");
  }
});

Deno.test("an attachment saved by its own name replaces nothing, whatever has that name; one saved by filename does", async () => {
  await using place = await openTools();
  const { root, call } = place;
  const takers: Readonly<Record<string, (path: string) => void>> = {
    "Makefile": (path) => Deno.writeTextFileSync(path, "mine"),
    "sub.d": (path) => Deno.mkdirSync(path),
    "link.txt": (path) => Deno.symlinkSync("Makefile", path),
    "locked.txt": (path) => Deno.writeTextFileSync(path, "mine", { mode: 0o400 }),
    "outward.txt": (path) => Deno.symlinkSync("/etc/hostname", path),
    "dangling": (path) => Deno.symlinkSync("/nowhere/at/all", path),
    "loop": (path) => Deno.symlinkSync("loop", path),
    "a (2).tar.gz": (path) => Deno.writeTextFileSync(path, "mine"),
    ["n".repeat(116) + ".txt"]: (path) => Deno.writeTextFileSync(path, "mine"),
  };
  for (const [name, take] of Object.entries(takers)) {
    take(`${root}/${name}`);
    const before = fingerprintTree(root);
    const id = await attach(place, name);
    const names = [];
    for (let count = 0; count < 2; count++) {
      names.push(String(structured(await call("servicenow_save_attachment", { attachment_id: id }))["filename"]));
    }
    const dot = name.lastIndexOf(".");
    const [stem, extension] = dot === -1 ? [name, ""] : [name.slice(0, dot), name.slice(dot)];
    for (const [index, saved] of names.entries()) {
      assert.ok(saved.startsWith(stem.slice(0, 100)) && saved.endsWith(` (${index + 2})${extension}`), saved);
      assert.equal(await Deno.readTextFile(`${root}/${saved}`), "of a stranger");
      await Deno.remove(`${root}/${saved}`);
    }
    await Deno.remove(`${root}/from`, { recursive: true });
    await Deno.remove(`${root}/.portcullis`, { recursive: true });
    assert.equal(fingerprintTree(root), before);
  }
  const chosen = { attachment_id: await attach(place, "anything"), filename: "Makefile" };
  assert.equal(structured(await call("servicenow_save_attachment", chosen))["filename"], "Makefile");
  assert.equal(await Deno.readTextFile(`${root}/Makefile`), "of a stranger");
});

Deno.test("servicenow tools tell an agent whose user has not linked an account what to do", async () => {
  await using place = await openTools();
  const inputs: Record<string, object> = {
    servicenow_get_record: { table: "incident", id: "INC0010001" },
    servicenow_search: { table: "incident" },
    servicenow_list_attachments: { table: "incident", id: "INC0010001" },
    servicenow_save_attachment: { attachment_id: sysId("af") },
    servicenow_add_comment: { table: "incident", id: sysId("1c", 1), text: "x" },
    servicenow_create_incident: { short_description: "x" },
  };
  for (const { name } of place.tools) {
    if (name === "servicenow_add_attachment") continue;
    const outcome = await place.call(name, inputs[name] ?? {}, "three");
    assert.match(
      refusal(outcome),
      /^servicenow_not_linked: Authentication required\. .*open https:\/\/mcp\.example\.com\/servicenow\/link/,
      name,
    );
  }
  assert.equal(place.place.instance.requests.length, 0);
});
