import assert from "node:assert/strict";
import fc from "fast-check";
import type { Principal } from "../../src/lib/principal.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import { newNameProblem, parseFilePath } from "../../src/files/workspace/path.ts";
import { createUserWorkspaces, userDirectoryName } from "../../src/files/workspace/joined_workspace.ts";
import { callTool, principalOf } from "./call_tool.ts";
import { makeConfinedBase } from "./confined_base.ts";

Deno.test("each user has files of their own, the same with every client, and cannot reach the others'", async () => {
  const scene = makeConfinedBase();
  const users = createUserWorkspaces((name) => openDiskWorkspace({ root: `${scene.root}/${name}` }));
  const source = (principal: Principal) => users.of(principal);
  const [read, write] = [fileReadTool(source), fileWriteTool(source)];
  try {
    for (const user of ["anna", "Bert@example.org"]) {
      const written = await callTool(write, { filename: "notes.txt", content: user }, principalOf(user));
      assert.ok(written.ok);
    }
    const answer = await callTool(read, { filename: "notes.txt" }, { ...principalOf("anna"), clientId: "another" });
    assert.equal(answer.ok && answer.structuredContent?.["content"], "anna");
    const names = Array.from(Deno.readDirSync(scene.root), ({ name }) => name).sort();
    assert.equal(names[0], "anna");
    assert.match(names[1] ?? "", /^user-[0-9a-f]{40}$/);
    Deno.symlinkSync(`../anna`, `${scene.root}/${names[1]}/l`);
    const refused = await callTool(read, { filename: "l/notes.txt" }, principalOf("Bert@example.org"));
    assert.equal(refused.ok ? "" : refused.code, "denied_outside_link");
  } finally {
    await users.close();
    scene.remove();
  }
});

Deno.test("userDirectoryName() gives every user another plain name, also where case is folded", () => {
  const subject = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom("a", "A", "b", "-", "/", ".", "u") }));
  fc.assert(
    fc.property(subject, subject, (a, b) => {
      const [first, second] = [userDirectoryName(a), userDirectoryName(b)];
      assert.match(first, /^[a-z0-9][a-z0-9_-]{0,63}$/);
      assert.ok(parseFilePath(first).ok);
      assert.equal(first.toLowerCase() === second.toLowerCase(), a === b);
    }),
    { numRuns: 2000 },
  );
  assert.equal(userDirectoryName("user-1"), userDirectoryName("user-1"));
  assert.notEqual(userDirectoryName("user-1"), "user-1");
  assert.equal(newNameProblem(userDirectoryName("con")), null);
});
