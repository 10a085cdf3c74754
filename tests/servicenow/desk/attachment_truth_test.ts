/** What is saved is the file that was asked for, what is attached is the file that was approved, or it is refused. */
import assert from "node:assert/strict";
import { placeReader } from "../../../src/app/approval.ts";
import { gateTool } from "../../../src/console/approvals/gate.ts";
import { openDiskWorkspace } from "../../../src/files/disk/disk_workspace.ts";
import { joinWorkspaces } from "../../../src/files/workspace/joined_workspace.ts";
import type { ToolContext } from "../../../src/mcp/tool.ts";
import { workspaceFiles } from "../../../src/servicenow/attach_tool.ts";
import { sysId } from "../../fixtures/servicenow/world.ts";
import { principalOf } from "../principal.ts";
import { type Desk, openDesk } from "./desk_place.ts";

const incident = sysId("1c", 1);
const json = (body: object, status = 200) => Response.json(body, { status });

/** A desk whose instance answers requests of this path with `reply` once it is set. */
async function openAnswering(path: RegExp) {
  const answering: { reply: (() => Response) | null } = { reply: null };
  const desk = await openDesk({
    fetch: (input, init) => {
      const { pathname } = new URL(String(input));
      const { reply } = answering;
      return reply !== null && path.test(pathname) ? Promise.resolve(reply()) : fetch(input, init);
    },
  });
  return { desk, answering, [Symbol.asyncDispose]: () => desk[Symbol.asyncDispose]() };
}

const filesOf = ({ root }: Desk) => [...Deno.readDirSync(root)].filter((each) => each.isFile).map(({ name }) => name);

Deno.test("an answer that is not the whole file is not saved in its place", async () => {
  await using place = await openAnswering(/\/file$/);
  const { desk, answering } = place;
  const metadata = { "x-attachment-metadata": "{}" };
  await Deno.writeTextFile(`${desk.root}/kept.txt`, "mine");
  for (
    const reply of [
      () => new Response(null, { status: 204 }),
      () => new Response(null, { headers: metadata }),
      () => new Response("a part", { headers: metadata }),
      () => new Response("a part", { status: 206, headers: metadata }),
      () => new Response("<html>sign in</html>", { headers: { "content-type": "text/plain" } }),
      () => new Response("<html>hibernating</html>", { headers: metadata }),
      () => json({ error: { message: "Transaction cancelled", detail: null }, status: "failure" }),
      () => json({}, 202),
    ]
  ) {
    answering.reply = reply;
    for (const filename of ["kept.txt", undefined]) {
      const said = await desk.text("servicenow_fetch_attachment", { id: "INC0010001", filename });
      assert.match(said, /^refused .*could not be understood/);
    }
    assert.equal(await Deno.readTextFile(`${desk.root}/kept.txt`), "mine");
    assert.deepEqual(filesOf(desk), ["kept.txt"]);
  }
  answering.reply = () => json({}, 404);
  const gone = await desk.text("servicenow_fetch_attachment", { id: "INC0010001" });
  assert.match(gone, /mx-01\.log cannot be read/);
  assert.doesNotMatch(gone, /record/i, "the record is there");
});

Deno.test("each attachment is found by the name that answers show, however many a record has", async () => {
  await using desk = await openDesk();
  const { instance, text } = desk;
  const [first] = instance.tables.get("sys_attachment")?.values() ?? [];
  assert.ok(first !== undefined);
  const names = [
    "a\u200bb.txt",
    "\u00a0c.txt",
    "d  e.txt",
    "f.txt ",
    "g\\h.txt",
    "i\u0308.txt",
    "J.txt",
    "j.txt",
    "k^ORl.txt",
  ];
  const attach = (name: string, at: number): void => {
    const id = sysId("ee", at);
    instance.tables.get("sys_attachment")?.set(id, { ...first, sys_id: id, file_name: name, size_bytes: "0" });
  };
  for (const [at, name] of names.entries()) attach(name, at);
  const list = () => text("servicenow_get_record", { id: "INC0010001", fields: "number", include: "attachments" });
  const fetch = (name: string) => text("servicenow_fetch_attachment", { id: "INC0010001", name, filename: "x" });
  const lines = (shown: string) => Array.from(shown.matchAll(/^- (.*) \(\d+ bytes?, /gm), ([, name = ""]) => name);
  const shown = lines(await list());
  assert.equal(shown.length, names.length + 1);
  const remedy = await text("servicenow_fetch_attachment", { id: "INC0010001" });
  const named = Array.from(
    remedy.matchAll(/(?:attachments: |; )(.*?) \(\d+ bytes?, [0-9a-f]{32}\)/g),
    ([, name = ""]) => name,
  );
  assert.deepEqual(named, shown);
  for (const name of [...shown, "\u00ef.txt"]) assert.match(await fetch(name), /^Saved x \((?:0|22) bytes\)$/, name);
  for (let at = 20; at < 130; at++) attach(`p${at}.txt`, at);
  assert.match(await list(), /^attachments \(the first; fetch further ones by name\):$/m);
  for (const name of ["p129.txt", "P128.txt", sysId("ee", 127)]) assert.match(await fetch(name), /^Saved x/, name);
});

Deno.test("files of other records are taken for none of this one, and a wrong answer about a new file is told", async () => {
  await using place = await openAnswering(/\/api\/now\/attachment(?:\/file)?$/);
  const { desk, answering } = place;
  const row = { sys_id: sysId("af", 0), file_name: "n.txt", content_type: "text/plain" };
  const [ours, theirs] = [incident, sysId("1c", 2)].map((record) => ({ ...row, table_sys_id: record }));
  answering.reply = () => json({ result: [{ ...ours, size_bytes: "22" }, { ...theirs, size_bytes: "22" }] });
  for (const name of [undefined, "n.txt"]) {
    const input = { id: "INC0010001", name };
    assert.match(await desk.text("servicenow_fetch_attachment", input), /^refused .*could not be understood/);
  }
  assert.deepEqual(filesOf(desk), []);
  await Deno.writeTextFile(`${desk.root}/n.txt`, "a note");
  const attach = () => desk.text("servicenow_attach", { id: "INC0010001", filename: "n.txt" });
  answering.reply = () => json({ result: { ...ours, size_bytes: "0" } }, 201);
  assert.match(await attach(), /^refused .*n\.txt \(6 bytes\) to INC0010001, but ServiceNow has 0 bytes/);
  answering.reply = () => json({ result: { ...theirs, size_bytes: "6" } }, 201);
  assert.match(await attach(), /^refused .*not known whether the change was saved/);
  answering.reply = () => json({ result: { ...ours, size_bytes: "6" } }, 201);
  assert.equal(await attach(), "Attached n.txt (6 bytes) to INC0010001");
});

Deno.test("a file is attached by its own name, however its path is written", async () => {
  await using desk = await openDesk();
  await Deno.mkdir(`${desk.root}/d`);
  const stored = () => [...desk.instance.tables.get("sys_attachment")?.values() ?? []].at(-1)?.["file_name"];
  for (const [name, written] of [["a\u200bb.txt", "d/a\\u{200B}b.txt"], ["u\u0308.txt", "d/\u00fc.txt"]] as const) {
    await Deno.writeTextFile(`${desk.root}/d/${name}`, "x");
    assert.match(await desk.text("servicenow_attach", { id: "INC0010001", filename: written }), /^Attached /);
    assert.equal(stored(), name);
  }
  for (const filename of ["/d/\u00fc.txt", "d/\u00fc.TXT"]) {
    assert.match(
      await desk.text("servicenow_attach", { id: "INC0010001", filename }),
      /: d\/|did you mean d\//,
      filename,
    );
  }
});

Deno.test("a file that has changed since the call began is not attached", async () => {
  await using desk = await openDesk();
  const path = `${desk.root}/plan.txt`;
  await Deno.writeTextFile(path, "approved");
  await Deno.utime(path, 1, 1); // else both may have the inode, the size and the tick of the clock in common
  const workspace = openDiskWorkspace({ root: desk.root });
  const files = workspaceFiles(() => workspace);
  const seen = await files.look("plan.txt", principalOf("ada"));
  assert.ok(seen.ok);
  assert.ok((await files.read(seen.value, principalOf("ada"))).ok);
  await Deno.remove(path);
  await Deno.writeTextFile(path, "another!");
  const read = await files.read(seen.value, principalOf("ada"));
  assert.ok(!read.ok && read.code === "conflict", JSON.stringify(read));
  await workspace.close();
});

Deno.test("files of one name that arrive at the same time get names of their own", async () => {
  await using desk = await openDesk();
  const said = await Promise.all(
    Array.from({ length: 4 }, () => desk.text("servicenow_fetch_attachment", { id: "INC0010001" })),
  );
  const saved = said.map((text) => /^Saved (.*) \(22 bytes\)$/.exec(text)?.[1] ?? text);
  assert.deepEqual(saved.toSorted(), ["mx-01 (2).log", "mx-01 (3).log", "mx-01 (4).log", "mx-01.log"]);
});

Deno.test("where the root takes no files, an attachment without a place says what to give", async () => {
  await using desk = await openDesk();
  const opened = openDiskWorkspace({ root: desk.root });
  const own = { name: "notes", path: desk.root, isReadOnly: false, open: () => opened, close: () => opened.close() };
  const joined = joinWorkspaces([own], { clock: Date.now, limits: opened.limits });
  const files = workspaceFiles(() => joined);
  const save = (filename?: string) => {
    const pieces = Promise.resolve([new Uint8Array(1)]);
    const arriving = async function* (): AsyncGenerator<Uint8Array> {
      yield* await pieces;
    };
    const caller = { principal: principalOf("ada"), noteChange() {} };
    return files.save({ filename, suggestion: "mx.log" }, arriving(), caller);
  };
  const refused = await save();
  assert.ok(
    !refused.ok && /work in one of them \(mx\.log\); give filename$/.test(refused.message),
    JSON.stringify(refused),
  );
  assert.ok((await save("notes/mx.log")).ok);
  await opened.close();
});

Deno.test("an attachment's own name does not lead to where a rule keeps the call from", async () => {
  await using desk = await openDesk();
  const tool = desk.tools.find(({ name }) => name === "servicenow_fetch_attachment") ?? assert.fail();
  const context = {
    ...{ principal: principalOf("ada"), signal: new AbortController().signal, supports: () => false },
    ...{ progress() {}, log() {}, noteChange() {} },
  } as unknown as ToolContext;
  const save = async (rules: readonly object[], input: object = {}): Promise<string> => {
    const gated = gateTool(tool, {
      ...{ rules: { current: rules }, clock: Date.now, placeReader, pageUrl: null },
      ...{
        findTrueNames: (_: unknown, path: string) => Promise.resolve([path]),
        findStates: () => Promise.resolve([]),
      },
    } as never);
    const outcome = await gated.run(tool.input.parse({ id: "INC0010001", ...input }) as never, context);
    for (const name of filesOf(desk)) await Deno.remove(`${desk.root}/${name}`);
    return outcome.ok ? JSON.stringify(outcome.content) : outcome.message;
  };
  const free = /Saved mx-01\.log/;
  assert.match(await save([]), free);
  for (const verdict of ["ask", "deny"]) {
    const kept = { id: "kept", verdict, place: "mx-01.log" };
    assert.match(await save([kept]), /Saved mx-01 \(2\)\.log/);
    assert.match(await save([kept, { id: "open", verdict: "allow", place: "incident" }]), /Saved mx-01 \(2\)\.log/);
    assert.match(await save([{ ...kept, place: "other.txt" }]), free);
    assert.match(
      await save([{ ...kept, place: "mx-01.log" }], { filename: "mx-01.log" }),
      /asks for approval|not allow/,
    );
  }
});

Deno.test("a person who decides about saving reads which attachment it is, of which record, and where it goes", async () => {
  await using desk = await openDesk();
  const effect = (input: object) => desk.effect("servicenow_fetch_attachment", { id: "INC0010001", ...input });
  assert.match(await effect({}), /^Save mx-01\.log \(22 bytes\) of INC0010001 \(.+\) as a new file in the workspace$/);
  assert.match(await effect({ filename: "logs/mx.log" }), / as logs\/mx\.log$/);
  assert.match(await effect({ name: "other.log" }), /name one of its attachments/);
  assert.deepEqual(filesOf(desk), []);
});
