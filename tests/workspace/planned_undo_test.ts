/** What the console offers to undo can be undone: the plan and the undoing agree, whatever happened since. */
import assert from "node:assert/strict";
import { pathOf, planUndo, undoChange } from "../../src/files/text/undo.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { withWorkspace } from "../tools/with_workspace.ts";

const author = { subject: "owner", clientId: "client", grantId: "grant", tool: "test" };

/** Ways to change files, and what happens to them afterwards. */
type ChangeIt = (workspace: Workspace) => Promise<{ readonly ok: boolean }>;
const bytes = (text: string) => new TextEncoder().encode(text);
const changes: Readonly<Record<string, ChangeIt>> = {
  "a new file": (own) => own.write(pathOf("d/q/new.txt"), bytes("x")),
  "another text": (own) => own.write(pathOf("d/a.txt"), bytes("after\n")),
  "an end": (own) => own.write(pathOf("d/a.txt"), bytes("more\n"), { mode: "append" }),
  "an edit": (own) =>
    own.write(pathOf("d/a.txt"), bytes("after\n"), { passages: [{ before: "before\n", after: "after\n" }] }),
  "a deletion": (own) => own.remove(pathOf("d/a.txt")),
  "a deletion of a tree": (own) => own.remove(pathOf("d/sub"), { recursive: true }),
  "a deletion of an empty directory": (own) => own.remove(pathOf("d/empty")),
  "a move": (own) => own.move(pathOf("d/a.txt"), pathOf("e/b.txt")),
  "a move over a file": (own) => own.move(pathOf("d/a.txt"), pathOf("e/c.txt"), { overwrite: true }),
  "a move of a tree": (own) => own.move(pathOf("d/sub"), pathOf("e/sub")),
  "a copy": (own) => own.copy(pathOf("d/a.txt"), pathOf("e/b.txt")),
  "a new directory": (own) => own.makeDirectory(pathOf("d/m/n")),
};
const files = ["d/a.txt", "d/q/new.txt", "d/sub/s.txt", "e/b.txt", "e/c.txt", "e/sub/s.txt"];
const happenings: Readonly<Record<string, (root: string, outside: string) => void>> = {
  nothing: () => {},
  "other texts": (root) => files.forEach((file) => attempt(() => append(`${root}/${file}`))),
  "no write bits": (root) => files.forEach((file) => attempt(() => protect(`${root}/${file}`))),
  "other texts without write bits": (root) => {
    for (const change of [append, protect]) files.forEach((file) => attempt(() => change(`${root}/${file}`)));
  },
  "something in the places": (root) =>
    [...files, "d/empty", "d/sub", "d/m/n/o"].forEach((file) => attempt(() => create(`${root}/${file}`))),
  "no directory": (root) => attempt(() => Deno.removeSync(`${root}/d`, { recursive: true })),
  "no other directory": (root) => attempt(() => Deno.removeSync(`${root}/e`, { recursive: true })),
  "a file for a directory": (root) => {
    Deno.removeSync(`${root}/d`, { recursive: true });
    create(`${root}/d`);
  },
  "a link in place of the directory": (root) => {
    Deno.renameSync(`${root}/d`, `${root}/moved`);
    Deno.symlinkSync("moved", `${root}/d`);
  },
  "a link that leads outside": (root, outside) => {
    Deno.renameSync(`${root}/d`, `${root}/moved`);
    Deno.symlinkSync(outside, `${root}/d`);
  },
  "an empty trash": (root) => {
    const kept = `${root}/.portcullis/trash`;
    for (const { name } of [...Deno.readDirSync(kept)]) {
      if (/\.\d+$/.test(name)) Deno.removeSync(`${kept}/${name}`, { recursive: true });
    }
  },
};

function attempt(change: () => void): void {
  try {
    change();
  } catch (error) {
    assert.ok(error instanceof Error && "code" in error, String(error)); // there is no such file, or one already
  }
}

function append(path: string): void {
  Deno.writeTextFileSync(path, "theirs\n", { append: true, create: false });
}

function protect(path: string): void {
  Deno.chmodSync(path, 0o444);
}

function create(path: string): void {
  Deno.writeTextFileSync(path, "theirs\n", { createNew: true });
}

for (const [what, change] of Object.entries(changes)) {
  Deno.test(`what is said to be undone can be undone, whatever happened since: ${what}`, async () => {
    for (const [since, happen] of Object.entries(happenings)) {
      await withWorkspace(async ({ root, outside, workspace }) => {
        for (const name of ["d", "d/sub", "d/empty", "e"]) Deno.mkdirSync(`${root}/${name}`);
        for (const name of ["d/a.txt", "d/sub/s.txt", "e/c.txt"]) Deno.writeTextFileSync(`${root}/${name}`, "before\n");
        let id = "";
        const begun = workspace.begin(author, (own) => void (id = own));
        assert.ok((await change(begun)).ok);
        happen(root, outside);
        const { trash } = workspace;
        const kept = await trash?.find(id) ?? assert.fail(since);
        assert.ok(trash);
        const planned = await planUndo({ ...workspace, trash }, kept);
        const own = workspace.begin(author);
        const undone = await undoChange({ ...own, trash: own.trash ?? assert.fail() }, kept);
        assert.deepEqual([planned.ok, planned.ok || planned.error], [undone.ok, undone.ok || undone.error], since);
        if (since === "nothing" || since === "no write bits") assert.ok(undone.ok, what);
      }, { trash: { keepMs: 60_000, maxBytes: 1_000_000 } });
    }
  });
}
