/** Which calls a rule about a place stops, whatever the call names it by. */
import assert from "node:assert/strict";
import * as z from "zod";
import {
  createRuleStore,
  decidingRule,
  meaningOf,
  placesOf,
  type Rule,
  ruleWords,
} from "../../src/console/approvals/rule.ts";
import { isKnownTool, placeReader } from "../../src/app/approval.ts";
import { takingMachinePaths } from "../../src/app/protocol_server.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";
import type { Tool } from "../../src/mcp/tool.ts";
import { fileDeleteTool } from "../../src/files/tools/file_delete.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileUndoTool } from "../../src/files/tools/file_undo.ts";
import { llmGenerateTool } from "../../src/llm/llm_tools.ts";
import { servicenowTools } from "../../src/servicenow/servicenow_offer.ts";

const unused = {} as never;
const tools: ReadonlyMap<string, Tool> = new Map([
  fileReadTool(unused),
  fileEditTool(unused),
  fileMoveTool(unused),
  fileDeleteTool(unused),
  fileUndoTool(unused),
  llmGenerateTool({ model: unused, workspace: unused, models: ["m"], clock: unused }),
  ...servicenowTools(unused, { workspace: unused, writing: true }),
].map((tool) => [tool.name, tool]));

function fits(rule: Partial<Rule>, name: string, input: Record<string, unknown>): boolean {
  const tool = tools.get(name);
  assert.ok(tool, name);
  const call = {
    ...{ person: "ada", clientId: "c", grantId: "g", tool: name, changes: true },
    ...placesOf(tool, input, placeReader),
  };
  return decidingRule([{ id: "r", verdict: "deny", ...rule }], call, 0) !== null;
}

Deno.test("a rule about a document stops a call for any part of it", () => {
  const names = [
    "a.pdf:p1",
    "a.pdf:p3-7",
    "a.pdf:text",
    "A.PDF:p1 ",
    "a.pdf:x:y",
    "a.pdf:1-9",
    "a.pdf::",
    "a.pdf:Q3!B2:F40",
  ];
  for (const name of names) {
    assert.ok(fits({ place: "secret/a.pdf" }, "file_read", { filename: `secret/${name}` }), name);
  }
  assert.ok(fits({ place: "n.ipynb" }, "file_read", { filename: "b.txt", files: ["n.ipynb:source"] }));
  assert.ok(fits({ place: "p.html" }, "file_read", { filename: "p.html:text" }));
  assert.ok(!fits({ place: "a.pdf" }, "file_read", { filename: "b.pdf:p1" }));
  // where the file itself leads is looked up by its own name
  const { paths } = placesOf({ places: [], input: z.object() } as never, { filename: "link.pdf:p1" }, placeReader);
  assert.ok(paths.includes("link.pdf"), String(paths));
});

Deno.test("a rule about a file stops every parameter and spelling that may mean it", () => {
  const manyEdits = [...Array.from({ length: 600 }, (_, index) => ({ path: `n${index}` })), { path: "secret/a.txt" }];
  for (
    const [tool, input] of [
      ["file_read", { filename: "secret/a.txt:1-9" }],
      ["file_read", { filename: "b.txt", files: ["secret/a.txt:-3"] }],
      ["file_read", { filename: "secret/a.txt:1:9" }],
      ["file_read", { filename: "b.txt", against: "secret/a.txt" }],
      ["llm_generate", { prompt: "p", files: ["secret/a.txt:1:9-90"] }],
      ["file_read", { filename: "ſecret/a.txt" }],
      ["file_read", { filename: "se\u200bcret/a.txt" }],
      ["file_read", { filename: "se\\u{200B}cret/a.txt" }],
      ["file_read", { filename: "secret./a.txt" }],
      ["file_read", { filename: "secret/a.txt::$DATA" }],
      ["file_read", { filename: "secret/A.TXT " }],
      ["file_edit", { edits: [{ path: "b.txt" }, { path: "secret/a.txt" }] }],
      ["file_edit", { edits: manyEdits }],
      ["file_move", { path: "b.txt", destination: "secret/a.txt" }],
      ["file_move", { path: "secret", destination: "b" }],
      ["file_move", { paths: ["c", "secret"], destination: "b" }],
      ["file_move", { paths: ["c/a.txt"], destination: "secret" }],
      ["file_delete", { paths: ["b.txt", "secret/a.txt"] }],
      ["file_move", { path: "b/a.txt", destination: "secret/" }],
      ["file_undo", { change: "last" }],
      ["llm_generate", { prompt: "p", files: ["secret/a.txt"] }],
      ["llm_generate", { prompt: "p", messages: [{ role: "user", content: "c", files: ["secret/a.txt:1"] }] }],
    ] as const
  ) {
    assert.ok(fits({ place: "secret/a.txt" }, tool, input), `${tool} ${JSON.stringify(input).slice(0, 100)}`);
  }
});

/** The forms in which a call can give the path of a document in the joined directory `docs`, which is at `root`. */
function waysToGive(root: string): readonly string[] {
  const parts = ["", ":p3", ":p3-7", ":2-4", ":-20", ":1:9", ":text", ":Q3!B2:F40", ":slide 2"];
  const beginnings = ["docs/", "./docs//", "docs\\", `${root}/`, `${root}\\`, `file://${root}/`, "workspace:///docs/"];
  return beginnings.flatMap((beginning) => parts.map((part) => `${beginning}secret/report.pdf${part}`));
}

/** Every place in an input where tools take a path. */
const givenAs: Readonly<Record<string, (path: string) => Record<string, unknown>>> = {
  ...Object.fromEntries(
    ["path", "filename", "against", "destination", "save_as", "output"].map((
      name,
    ) => [name, (path) => ({ [name]: path })]),
  ),
  ...Object.fromEntries(
    ["paths", "files", "images"].map((name) => [name, (path) => ({ [name]: ["other.txt", path] })]),
  ),
  "a single word for a list": (path) => ({ files: path }),
  "an object of a list": (path) => ({ edits: [{ path }] }),
  "a file of a message": (path) => ({ messages: [{ role: "user", content: "c", files: [path] }] }),
};

for (const [name, inputOf] of Object.entries(givenAs)) {
  Deno.test(`a rule about a place holds for every form of a path: ${name}`, () => {
    const root = "/srv/company/docs";
    const workspace = { forPrincipal: () => workspace, directories: { [root]: "docs" } } as never;
    for (const path of waysToGive(root)) {
      let judged: ReturnType<typeof placesOf> | null = null;
      const inner = {
        run(input: unknown) {
          judged = placesOf({ input: z.object({}) }, input, placeReader);
          return { ok: true, content: [] };
        },
      } as unknown as Tool;
      takingMachinePaths(inner, () => workspace).run(inputOf(path) as never, { principal: {} } as never);
      assert.ok(judged !== null);
      for (const place of ["docs", "docs/secret", "docs/secret/report.pdf"]) {
        const call = { person: "ada", clientId: "c", grantId: "g", tool: "t", changes: true, ...judged as object };
        const rule = decidingRule([{ id: "r", verdict: "deny", place }], call as never, 0);
        assert.ok(rule !== null, `${path} in ${place}`);
      }
      const other = { person: "a", clientId: "c", grantId: "g", tool: "t", changes: true, ...judged as object };
      assert.equal(decidingRule([{ id: "r", verdict: "deny", place: "docs/public" }], other as never, 0), null, path);
    }
  });
}

Deno.test("a rule about a file leaves calls about others alone", () => {
  for (
    const [tool, input] of [
      ["file_read", { filename: "secret/a.txt2" }],
      ["file_edit", { edits: [{ path: "b.txt" }] }],
      ["file_move", { destination: "new" }],
      ["llm_generate", { prompt: "secret/a.txt" }],
      ["servicenow_create", { table: "incident", short_description: "secret/a.txt" }],
      ["servicenow_order", { item: "secret/a.txt" }],
    ] as const
  ) {
    assert.ok(!fits({ place: "secret/a.txt" }, tool, input), `${tool} ${JSON.stringify(input)}`);
  }
});

Deno.test("a rule about a table stops its labels, its numbers, and its links", () => {
  const id = "0".repeat(32);
  for (
    const [tool, input] of [
      ["servicenow_search", { table: "Change Request" }],
      ["servicenow_search", { table: "changes" }],
      ["servicenow_search", { table: " CHANGE_REQUEST " }],
      ["servicenow_search", { table: "task" }],
      ["servicenow_get_record", { id: "CHG0030001" }],
      ["servicenow_get_record", { id: "chg0030001", table: "incident" }],
      ["servicenow_get_record", { id: "INC0010001, chg0030001", table: "incident" }],
      ["servicenow_get_record", { id: "#CHG 0030001.", table: "incident" }],
      ["servicenow_update", { id: "chg-0030001", table: "incident", values: "{}" }],
      ["servicenow_get_record", { id: "servicenow://change_request/CHG0030001", table: "incident" }],
      ["servicenow_update", { id: "INC0010001|CHG0030001", values: "{}" }],
      ["servicenow_update", { id: "CHG0030001;CHG0030002", values: "{}" }],
      ["servicenow_get_record", { id: "INC0010001 ABCDEFGHIJ0030001" }],
      ["servicenow_get_record", { id: `https://x.example/change_request.do?sys_id=${id}`, table: "incident" }],
      ["servicenow_approve", { id: "CHG0030001", decision: "approve" }],
      ["servicenow_approve", { id, decision: "approve" }],
      ["servicenow_fetch_attachment", { id }],
    ] as const
  ) {
    for (const place of ["change_request", "Change request", "change", "Changes", "change-requests"]) {
      assert.ok(fits({ place }, tool, input), `${place}: ${tool} ${JSON.stringify(input)}`);
    }
  }
  assert.ok(fits({ place: "incident" }, "servicenow_create", { table: "incident", short_description: "s" }));
  assert.ok(fits({ place: "sys_user" }, "servicenow_get_record", { id: "me", table: "incident" }));
  assert.ok(!fits({ place: "change_request" }, "servicenow_get_record", { id: "INC0010001" }));
  assert.ok(!fits({ place: "change_request" }, "servicenow_get_record", { id: "INC0010001,INC0010002" }));
  assert.ok(fits({ place: "incident" }, "servicenow_get_record", { id: "PRB0040001", include: "similar" }));
  assert.ok(!fits({ place: "change_request" }, "servicenow_search", { table: "kb_knowledge" }));
});

Deno.test("a rule about a table holds for records that a call asks to be shown with another one", () => {
  const read = { id: "INC0010001" };
  for (
    const [place, include] of [
      ["sysapproval_approver", "journal, approvals"],
      ["sysapproval_approver", " approvals ,ci"],
      ["cmdb_ci", "ci"],
      ["problem", "tasks"],
      ["sys_user", "members"],
      ["cmn_rota_member", "on_call"],
      ["task_sla", "SLA"],
      ["problem", "task;journal"],
    ] as const
  ) {
    assert.ok(fits({ place }, "servicenow_get_record", { ...read, include }), `${place}: ${include}`);
    assert.ok(!fits({ place }, "servicenow_get_record", { ...read, include: "journal" }), place);
  }
});

Deno.test("a rule that lets on reaches the place itself, and no name that only looks alike", () => {
  const allow = { place: "drafts", verdict: "allow" } as const;
  assert.ok(fits(allow, "file_read", { filename: "drafts/a.txt" }));
  assert.ok(fits(allow, "file_read", { filename: "./drafts//a.txt:1-9" }));
  assert.ok(fits({ ...allow, place: "incident" }, "servicenow_search", { table: "Incident" }));
  for (const filename of ["Drafts/a.txt", "drafts./a.txt", "draft\u200bs/a.txt", "draftsman/a.txt"]) {
    assert.ok(!fits(allow, "file_read", { filename }), filename);
  }
  assert.ok(!fits(allow, "file_move", { path: "drafts/a", destination: "b" }));
});

Deno.test("a rule about a table stops a tool whose input is built at its first use", () => {
  const input = z.lazy(() => z.object({ table: z.string() }));
  const { places } = placesOf({ input }, { table: "incident" }, placeReader);
  assert.deepEqual(
    places,
    placesOf({ input: z.object({ table: z.string() }) }, { table: "incident" }, placeReader).places,
  );
  assert.notDeepEqual(places, []);
});

Deno.test("a rule that names an unknown tool refuses, and the tools of every configuration are known", async () => {
  for (const name of tools.keys()) assert.ok(isKnownTool(name), name);
  const stored: readonly Rule[] = [
    { id: "1", tool: "file_wriet", place: "secret", verdict: "ask" },
    { id: "2", tool: "file_wriet", place: "open", verdict: "allow" },
    { id: "3", tool: "servicenow_update", verdict: "ask" },
  ];
  const log = { write() {}, flush() {} };
  const rules = createRuleStore({ storage: createMemoryStorage(), clock: () => 0, log, knowsTool: isKnownTool });
  assert.ok(await rules.change(() => stored, { userId: "ada", address: "::1" }));
  const held = rules.current;
  rules.close();
  const call = (tool: string, place: string) => ({
    ...{ person: "ada", clientId: "c", grantId: "g", tool, changes: false },
    places: [place],
  });
  assert.equal(decidingRule(held, call("file_read", "secret/a"), 0)?.verdict, "deny");
  assert.equal(decidingRule(held, call("file_read", "open/a"), 0), null);
  assert.equal(decidingRule(held, call("servicenow_update", "incident"), 0)?.verdict, "ask");
  assert.match(ruleWords(held[0] ?? assert.fail()), /are refused\. The rule names the tool file_wriet/);
});

Deno.test("rules that hold alike have one meaning, however they are spelled, and no two others", () => {
  const rule: Rule = {
    id: "1",
    clientId: "c",
    clientName: "C",
    tool: "file_write",
    place: "caf\u00e9/a",
    verdict: "ask",
  };
  const { clientId: _, ...anyClients } = rule;
  const alike: Partial<Rule>[] = [
    ...[{ id: "2" }, { clientName: "D" }, { approver: "person" as const }],
    ...["./caf\u00e9/a", "/caf\u00e9//a/", "cafe\u0301/a"].map((place) => ({ place })),
  ];
  for (const other of alike) assert.equal(meaningOf({ ...rule, ...other }), meaningOf(rule), JSON.stringify(other));
  const others: readonly Rule[] = [rule, anyClients].flatMap((one) => [
    ...[one, { ...one, verdict: "deny" as const }, { ...one, tool: "changes" }, { ...one, place: "caf\u00e9" }],
    ...[{ ...one, approver: "administrator" as const }, { ...one, person: "ada" }, { ...one, grantId: "g" }],
    ...[{ ...one, until: 5 }, { ...one, passes: ["1"] }, { ...one, place: "CAF\u00c9/a" }],
  ]);
  assert.equal(new Set(others.map(meaningOf)).size, others.length);
});
