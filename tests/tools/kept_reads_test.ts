import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { callTool, principalOf } from "../workspace/call_tool.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

const time = new Date(1_700_000_000_000);

Deno.test("file_read answers with what the file holds now, though its size and time are the same", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    const versions = new Set<unknown>();
    for (const text of ["one\n", "two\n", "one\n", "six\n"]) {
      Deno.writeTextFileSync(`${root}/a.txt`, text);
      Deno.utimeSync(`${root}/a.txt`, time, time);
      for (let again = 0; again < 3; again++) {
        const { texts, structured } = await answerOf(read, { filename: "a.txt" });
        assert.deepEqual([texts[0], structured["content"]], [text, text]);
        versions.add(structured["version"]);
      }
    }
    assert.equal(versions.size, 3);
    Deno.removeSync(`${root}/a.txt`);
    assert.equal((await failureOf(read, { filename: "a.txt" })).code, "not_found");
  }));

Deno.test("file_read tells a new time of a file whose text is the same", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    Deno.writeTextFileSync(`${root}/a.txt`, "one\n");
    for (const milliseconds of [1_000_000_000_000, 1_100_000_000_000]) {
      const changed = new Date(milliseconds);
      Deno.utimeSync(`${root}/a.txt`, changed, changed);
      assert.equal((await answerOf(read, { filename: "a.txt" })).structured["modified_at"], changed.toISOString());
    }
  }));

Deno.test("file_read of a file that was read before follows each call's own parameters", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    const text = "\u6f22\u5b57\n".repeat(10);
    Deno.writeFileSync(`${root}/a.txt`, Buffer.from(`\ufeff${text}`, "utf16le"));
    const whole = await answerOf(read, { filename: "a.txt" });
    assert.equal(whole.structured["content"], `\ufeff${text}`);
    const cut = await answerOf(read, { filename: "a.txt", max_bytes: 30 });
    assert.ok(typeof cut.structured["next_cursor"] === "string");
    assert.equal(
      (await answerOf(read, { filename: "a.txt", start_line: 2, end_line: 2 })).texts[1],
      "2\t\u6f22\u5b57\n",
    );
    assert.equal((await answerOf(read, { filename: "a.txt", tail: 1, numbered: false })).texts[1], "\u6f22\u5b57\n");
    assert.notEqual((await answerOf(read, { filename: "a.txt", encoding: "latin1" })).text, whole.text);
    const both = await answerOf(read, { filename: "a.txt", files: ["a.txt"] });
    assert.equal(both.texts.length, 4);
    assert.equal((await answerOf(read, { filename: "a.txt" })).structured["next_cursor"], undefined);
  }));

Deno.test("file_read keeps the files of two users apart", () =>
  withWorkspace(({ root: firstRoot, workspace: first }) =>
    withWorkspace(async ({ root: secondRoot, workspace: second }) => {
      const read = fileReadTool((principal) => principal.subject === "ann" ? first : second);
      for (const root of [firstRoot, secondRoot]) {
        Deno.writeTextFileSync(`${root}/a.txt`, "same\n");
        Deno.utimeSync(`${root}/a.txt`, time, time);
      }
      await callTool(read, { filename: "a.txt" }, principalOf("ann"));
      await callTool(read, { filename: "a.txt" }, principalOf("ben"));
      Deno.writeTextFileSync(`${secondRoot}/a.txt`, "bens\n");
      Deno.utimeSync(`${secondRoot}/a.txt`, time, time);
      for (const [name, text] of [["ann", "same\n"], ["ben", "bens\n"], ["ann", "same\n"]] as const) {
        const outcome = await callTool(read, { filename: "a.txt" }, principalOf(name));
        assert.equal(outcome.ok && outcome.structuredContent?.["content"], text);
      }
    })
  ));

Deno.test("a kept answer gives no file that is refused now: replaced by a link, hidden by a rule, or another kind", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    const outside = await Deno.makeTempFile();
    try {
      for (const path of [outside, `${root}/a.txt`]) {
        Deno.writeTextFileSync(path, "same\n");
        Deno.utimeSync(path, time, time);
      }
      for (let again = 0; again < 3; again++) await answerOf(read, { filename: "a.txt" });
      Deno.removeSync(`${root}/a.txt`);
      Deno.symlinkSync(outside, `${root}/a.txt`);
      assert.notEqual((await failureOf(read, { filename: "a.txt" })).code, "");
      Deno.removeSync(`${root}/a.txt`);
      Deno.linkSync(outside, `${root}/a.txt`);
      assert.equal((await failureOf(read, { filename: "a.txt" })).code, "denied_hard_link");
      Deno.removeSync(`${root}/a.txt`);
      Deno.mkdirSync(`${root}/a.txt`);
      await failureOf(read, { filename: "a.txt" });
    } finally {
      await Deno.remove(outside);
    }
  }));

Deno.test("a client's other notes and forms are not those of the answer that was kept", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    Deno.writeTextFileSync(`${root}/a.txt`, "one\n");
    const first = await answerOf(read, { filename: "a.txt" });
    for (
      const input of [{ filename: "./a.txt" }, { filename: "a.txt", files: [] }, { filename: "a.txt", link: false }]
    ) {
      assert.deepEqual((await answerOf(read, input)).texts, first.texts);
    }
    assert.notDeepEqual((await answerOf(read, { filename: "a.txt", numbered: true })).texts, first.texts);
  }));
