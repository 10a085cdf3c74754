/** Relative links that are moved or copied: the answer says where one does not lead where it did. */
import assert from "node:assert/strict";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { currentKernel, testInEachMode } from "../workspace/disk_modes.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

const inEachMode = (body: Parameters<typeof withWorkspace>[0]) => withWorkspace(body, { kernel: currentKernel() });

testInEachMode(
  "a relative link that a move leads elsewhere is named, alone and in a directory",
  () =>
    inEachMode(async ({ root, workspace }) => {
      for (const name of ["d/in", "e"]) Deno.mkdirSync(`${root}/${name}`, { recursive: true });
      for (const name of ["a.txt", "d/a.txt", "d/in/b.txt"]) Deno.writeTextFileSync(`${root}/${name}`, name);
      const links = { "l": "a.txt", "d/up": "../a.txt", "d/own": "in/b.txt", "d/in/own": "../a.txt", "d/gone": "none" };
      for (const [name, target] of Object.entries(links)) Deno.symlinkSync(target, `${root}/${name}`);
      Deno.symlinkSync(`${root}/a.txt`, `${root}/d/absolute`);
      const move = fileMoveTool(() => workspace);
      const text = async (input: Record<string, unknown>): Promise<string> => (await answerOf(move, input)).text;
      assert.equal(await text({ path: "l", destination: "m" }), "Moved l to m");
      const astray = (name: string): string => `\n(relative links that do not lead where they did: ${name})`;
      assert.equal(await text({ path: "m", destination: "e/m" }), `Moved m to e/m${astray("e/m")}`);
      assert.equal(await text({ path: "e/m", destination: "l" }), "Moved e/m to l"); // it led nowhere
      assert.equal((await answerOf(fileReadTool(() => workspace), { filename: "l" })).text, "a.txt");
      assert.equal(await text({ path: "d", destination: "f" }), "Moved d to f");
      assert.equal(await text({ path: "f", destination: "e/f" }), `Moved f to e/f${astray("e/f/up")}`);
      for (const name of ["own", "in/own", "absolute"]) {
        await answerOf(fileReadTool(() => workspace), { filename: `e/f/${name}` });
      }
      assert.equal((await failureOf(fileReadTool(() => workspace), { filename: "e/f/up" })).code, "not_found");
      assert.equal(await text({ paths: ["l", "a.txt"], destination: "g" }), "Moved l, a.txt into g/"); // both
      Deno.writeTextFileSync(`${root}/g/stays`, "");
      Deno.symlinkSync("stays", `${root}/g/s`);
      assert.equal(
        await text({ paths: ["g/s", "g/l"], destination: "i" }),
        `Moved g/s, g/l into i/${astray("i/s, i/l")}`,
      );
      assert.match(
        await text({ paths: ["e/f"], destination: "h", copy: true }),
        /^Copied e\/f into h\/\n\(e\/f: 5 links or special files left out\)$/,
      );
      assert.match(
        await text({ path: "e/f/own", destination: "own", copy: true }),
        /^Copied e\/f\/own to own \(10 bytes\)$/,
      );
    }),
);
