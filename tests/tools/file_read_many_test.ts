import assert from "node:assert/strict";
import { fileReadManyTool } from "../../src/tools/files/file_read_many.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

Deno.test("file_read_many reads what can be read, in order, and says of the rest why not", () =>
  withWorkspace(async ({ root, workspace }) => {
    const readMany = fileReadManyTool(workspace);
    Deno.writeTextFileSync(`${root}/a`, "one");
    Deno.writeTextFileSync(`${root}/b`, "two\u202e");
    Deno.writeFileSync(`${root}/binary`, Uint8Array.of(0xff));
    Deno.symlinkSync("../outside/secret.txt", `${root}/l`);
    const filenames = ["b", "none", "a", "../x", "binary", "l", ""];
    const { blocks, structured } = await answerOf(readMany, { filenames });
    assert.deepEqual(blocks.map((block) => block.type === "text" ? block.text : block.type), [
      "==> b <==\ntwo\\u{202E}",
      "Failed to read file: no such file or directory (none)",
      "==> a <==\none",
      "Invalid filename - path traversal not allowed (../x)",
      "Failed to read file: its content is not text in UTF-8 (binary)",
      "Failed to read file: access denied - a link in the path leads outside the workspace (l)",
      "filename parameter is required ()",
    ]);
    const files = structured["files"] as { readonly filename: string; readonly content?: string }[];
    assert.deepEqual(files.map(({ filename }) => filename), filenames);
    assert.deepEqual([files[0]?.content, files[1]?.content, files[2]?.content], ["two\u202e", undefined, "one"]);
  }));

Deno.test("file_read_many holds all files together to the limit of one read", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (const name of ["a", "b", "c"]) Deno.writeTextFileSync(`${root}/${name}`, name.repeat(40));
    const { structured } = await answerOf(fileReadManyTool(workspace), {
      filenames: ["a", "b", "c"],
    });
    const files = structured["files"] as { readonly content?: string; readonly error?: string }[];
    assert.deepEqual(files.map(({ content }) => content?.length), [40, 40, undefined]);
    assert.equal(files[2]?.error, "Failed to read file: there is no room left for its 40 bytes in this answer (c)");
  }, { limits: { maxReadBytes: 100 } }));

Deno.test("file_read_many fails when no file can be read, and takes neither none nor too many", () =>
  withWorkspace(async ({ workspace }) => {
    const readMany = fileReadManyTool(workspace, { maxFiles: 3 });
    assert.match(readMany.description, /up to 3 /);
    assert.equal((await failureOf(readMany, { filenames: ["none", "neither"] })).code, "none_readable");
    assert.equal((await failureOf(readMany, { filenames: [] })).code, "invalid_input");
    assert.equal((await failureOf(readMany, { filenames: Array(4).fill("a") })).code, "invalid_input");
  }));
