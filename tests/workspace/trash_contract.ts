/** What the trash of every workspace must do. */
import assert from "node:assert/strict";
import type { Change, ChangeAuthor } from "../../src/files/workspace/change.ts";
import type { WorkspacePath } from "../../src/files/workspace/path.ts";
import type { Outcome, Trash, Workspace } from "../../src/files/workspace/port.ts";
import { undoChange } from "../../src/files/text/undo.ts";
import {
  at,
  type ContractSettings,
  encode,
  fillFile,
  type OpenedWorkspace,
  type OpenWorkspace,
  reason,
  roomyTrash,
  text,
  tree,
  value,
} from "./contract.ts";

export const author: ChangeAuthor = { subject: "anna", clientId: "claude", grantId: "grant", tool: "file_write" };

/** Makes one change, and gives its id. */
export async function makeChange(
  workspace: Workspace,
  change: (workspace: Workspace) => Promise<unknown>,
): Promise<string> {
  let id = "";
  await change(workspace.begin(author, (begun) => id = begun));
  assert.notEqual(id, "", "no change was recorded");
  return id;
}

export async function changesOf(workspace: Workspace): Promise<Change[]> {
  return await Array.fromAsync(trashOf(workspace).changes());
}

export function trashOf({ trash }: Workspace): Trash {
  assert.ok(trash !== null);
  return trash;
}

/** Undoes a change, and gives the id of the undoing; a problem is given as its reason. */
export async function undo(workspace: Workspace, id: string): Promise<string> {
  let by = "";
  const changing = workspace.begin({ ...author, tool: "file_undo" }, (begun) => by = begun);
  const change = await trashOf(workspace).find(id);
  assert.ok(change !== null);
  const undone = await undoChange({ ...changing, trash: trashOf(changing) }, change);
  if (!undone.ok) {
    const { problem } = undone.error;
    return problem.reason === "refused" ? `${problem.reason} ${problem.refusal.reason}` : problem.reason;
  }
  await trashOf(workspace).noteUndone(id, by);
  return by;
}

/** Runs the suite against the workspaces that `open` makes. */
export function testTrashContract(name: string, open: OpenWorkspace): void {
  const test = (
    what: string,
    body: (
      workspace: Workspace,
      clock: { now: number },
      rename: OpenedWorkspace["rename"],
    ) => Promise<void>,
    settings: ContractSettings = {},
  ): void =>
    Deno.test(`${name}, trash: ${what}`, async () => {
      const clock = { now: Date.now() };
      const { workspace, rename, dispose } = await open({ trash: roomyTrash, clock: () => clock.now, ...settings });
      try {
        await body(workspace, clock, rename);
      } finally {
        await dispose();
      }
    });

  const snapshot = async (workspace: Workspace): Promise<string> => {
    const lines = (await tree(workspace)).map(async (path) =>
      path.endsWith("/") ? path : `${path}=${await text(workspace, path)}`
    );
    return (await Promise.all(lines)).join(" ");
  };

  const changes: Readonly<Record<string, (workspace: Workspace) => Promise<unknown>>> = {
    "a replaced file": (workspace) => workspace.write(at("d/f"), encode("new")),
    "a new file with its directories": (workspace) => workspace.write(at("x/y/new"), encode("new")),
    "an append": (workspace) => workspace.write(at("d/f"), encode("+"), { mode: "append" }),
    "a copy": (workspace) => workspace.copy(at("d/f"), at("e/copy")),
    "a copy onto a file": (workspace) => workspace.copy(at("d/f"), at("g"), { overwrite: true }),
    "a move": (workspace) => workspace.move(at("d/f"), at("x/moved")),
    "a move onto a file": (workspace) => workspace.move(at("d/f"), at("g"), { overwrite: true }),
    "a moved directory": (workspace) => workspace.move(at("d"), at("x/y")),
    "a deleted file": (workspace) => workspace.remove(at("g")),
    "a deleted empty directory": (workspace) => workspace.remove(at("empty")),
    "a deleted tree": (workspace) => workspace.remove(at("d"), { recursive: true }),
    "a new directory": (workspace) => workspace.makeDirectory(at("x/y/z")),
    async "several files"(workspace) {
      await workspace.write(at("d/f"), encode("one"));
      await workspace.write(at("g"), encode("two"));
      await workspace.write(at("h"), encode("three"));
    },
    async "several writes of one file"(workspace) {
      await workspace.write(at("d/f"), encode("one"));
      await workspace.write(at("d/f"), encode("two"));
      await workspace.write(at("d/f"), encode("three"), { mode: "append" });
    },
    async "a file that is written in pieces"(workspace) {
      await workspace.write(at("v"), encode("one"), { mode: "create" });
      await workspace.write(at("v"), encode("two"), { mode: "append" });
    },
  };
  for (const [what, change] of Object.entries(changes)) {
    test(`${what} is undone, and the undoing is undone`, async (workspace) => {
      await fillFile(workspace, "d/f", "file");
      await fillFile(workspace, "d/sub/other", "other");
      await fillFile(workspace, "g", "target");
      await workspace.makeDirectory(at("empty"));
      const before = await snapshot(workspace);
      const id = await makeChange(workspace, change);
      const after = await snapshot(workspace);
      assert.notEqual(after, before);
      const undoing = await undo(workspace, id);
      assert.equal(await snapshot(workspace), before);
      const again = await undo(workspace, undoing);
      assert.equal(await snapshot(workspace), after);
      assert.equal(await undo(workspace, id), "undone");
      await undo(workspace, again);
      assert.equal(await snapshot(workspace), before);
    });
  }

  const foreignNames = {
    "a colon": "doc.pdf:Zone.Identifier",
    "a joiner": "\u{1f468}\u200d\u{1f469}.md",
    "a trailing blank": "report ",
    "a trailing dot": "etc.",
    "a device's name": "aux.c",
    "a control character": "a\tb\n",
    "a backslash": "c\\d",
    "what reads as an escape": "c\\u{3A}d",
  };
  for (const [what, name] of Object.entries(foreignNames)) {
    test(`a name with ${what} comes back, and may not be made`, async (workspace, _, rename) => {
      const path: WorkspacePath = { text: name, segments: [name] };
      const inside: WorkspacePath = { text: `${name}/f`, segments: [name, "f"] };
      for (const kind of ["file", "tree", "empty"]) {
        if (kind === "file") await fillFile(workspace, "plain", kind);
        else if (kind === "tree") await fillFile(workspace, "plain/f", kind);
        else value(await workspace.makeDirectory(at("plain")));
        await rename("plain", name);
        const ways: Readonly<Record<string, (each: Workspace) => Promise<unknown>>> = {
          delete: (each) => each.remove(path, { recursive: kind === "tree" }),
          move: async (each) => value(await each.move(path, at("d/moved"))),
          ...kind === "tree"
            ? {
              "delete what is in it, then it": async (each) => {
                value(await each.remove(inside));
                value(await each.remove(path));
              },
            }
            : {},
        };
        for (const [way, change] of Object.entries(ways)) {
          const id = await makeChange(workspace, change);
          assert.equal(reason(await workspace.stat(path)), "not_found", way);
          const undoing = await undo(workspace, id);
          value(await workspace.stat(path));
          await undo(workspace, await undo(workspace, undoing));
          assert.equal((await workspace.stat(kind === "tree" ? inside : path)).ok, true, `${kind} ${way}`);
        }
        value(await workspace.remove(path, { recursive: true }));
      }
      await fillFile(workspace, "plain", "");
      assert.equal(reason(await workspace.write(path, encode(""))), "bad_name");
      assert.equal((await workspace.move(at("plain"), path)).ok, false);
      const id = await makeChange(workspace, (each) => each.remove(at("plain")));
      const kept = { change: id, number: 1 };
      assert.equal(reason(await trashOf(workspace).restore(kept, path)), "bad_name");
    });
  }

  test("a name that is denied by now does not come back", async (workspace) => {
    await fillFile(workspace, "d/f", "");
    const id = await makeChange(workspace, (each) => each.remove(at("d/f")));
    assert.equal(reason(await trashOf(workspace).restore({ change: id, number: 1 }, at(".git/f"))), "denied");
  });

  test("changes are told newest first, with author, path and what is kept", async (workspace) => {
    await fillFile(workspace, "f", "1234");
    const id = await makeChange(workspace, (each) => each.write(at("f"), encode("x")));
    const [last, first] = await changesOf(workspace);
    assert.equal(last?.id, id);
    const { directories: _, ...by } = last?.by ?? {};
    assert.deepEqual(by, author);
    assert.equal(first?.by, null);
    const step = last?.steps[0]?.step;
    assert.ok(step?.op === "put");
    assert.deepEqual([step.path, step.created, step.kept], ["f", false, { kind: "file", sizeBytes: 4, entries: 1 }]);
    const kept = value(await trashOf(workspace).read({ change: id, number: 1 }, { offsetBytes: 1, lengthBytes: 2 }));
    assert.equal(new TextDecoder().decode(kept), "23");
  });

  test("a later change of the same file keeps an earlier one from being undone, until it is undone itself", async (workspace) => {
    await fillFile(workspace, "f", "1");
    const first = await makeChange(workspace, (each) => each.write(at("f"), encode("2")));
    const second = await makeChange(workspace, (each) => each.write(at("f"), encode("3")));
    await fillFile(workspace, "other", "x");
    assert.equal(await undo(workspace, first), "changed_since");
    await undo(workspace, second);
    assert.equal(await text(workspace, "f"), "2");
    await undo(workspace, first);
    assert.equal(await text(workspace, "f"), "1");
  });

  test("a path that is taken again keeps a deletion from being undone, and nothing is overwritten", async (workspace) => {
    await fillFile(workspace, "d/f", "old");
    const id = await makeChange(workspace, (each) => each.remove(at("d"), { recursive: true }));
    await fillFile(workspace, "d", "new");
    assert.equal(await undo(workspace, id), "taken");
    assert.equal(await text(workspace, "d"), "new");
    const item = { change: id, number: 1 };
    assert.equal(reason(await trashOf(workspace).restore(item, at("d"))), "already_exists");
    value(await trashOf(workspace).restore(item, at("other/place")));
    assert.equal(await text(workspace, "other/place/f"), "old");
    assert.equal(reason(await trashOf(workspace).restore(item, at("third"))), "not_found");
  });

  test("an edit is undone in a file that others changed elsewhere, and not where its passage is changed or there twice", async (workspace) => {
    const lines = (third: string, first = "a"): string => `${first}\nb\nc\n${third}\ne\nf\ng\nh\n`;
    const passages = [{ before: "c\nd\ne\n", after: "c\nD\ne\n" }];
    const edit = async (content: string): Promise<string> => {
      await fillFile(workspace, "f", lines("d"));
      const id = await makeChange(workspace, (each) => each.write(at("f"), encode(lines("D")), { passages }));
      await fillFile(workspace, "f", content);
      return id;
    };
    await undo(workspace, await edit(lines("D", "changed")));
    assert.equal(await text(workspace, "f"), lines("d", "changed"));
    assert.equal(await undo(workspace, await edit(lines("changed"))), "changed_since");
    assert.equal(await undo(workspace, await edit(lines("D") + lines("D"))), "changed_since");
    assert.equal(await text(workspace, "f"), lines("D") + lines("D"));
  });

  test("a change of several files is undone as a whole or not at all", async (workspace) => {
    await fillFile(workspace, "a", "1");
    const id = await makeChange(workspace, async (each) => {
      await each.write(at("a"), encode("2"));
      await each.write(at("b"), encode("new"));
    });
    await fillFile(workspace, "b", "others");
    assert.equal(await undo(workspace, id), "changed_since");
    assert.equal(await snapshot(workspace), "a=2 b=others");
  });

  test("what is older than the time, or more than the size, is dropped, the oldest first", async (workspace, clock) => {
    await fillFile(workspace, "f", "x".repeat(400));
    const ids: string[] = [];
    for (let round = 0; round < 4; round++) {
      clock.now += 10;
      ids.push(await makeChange(workspace, (each) => each.write(at("f"), encode(`${round}`.repeat(400)))));
    }
    await trashOf(workspace).tidy(clock.now);
    const kept = async () => (await changesOf(workspace)).map(({ id }) => id).filter((id) => ids.includes(id));
    assert.deepEqual(await kept(), ids.slice(2).reverse());
    clock.now += 2_000;
    await trashOf(workspace).tidy(clock.now);
    assert.deepEqual(await changesOf(workspace), []);
    assert.equal(await text(workspace, "f"), "3".repeat(400));
  }, { trash: { keepMs: 1_000, maxBytes: 1_000 } });

  test("what is larger than the trash is deleted, and the change says that it keeps nothing", async (workspace) => {
    await fillFile(workspace, "d/f", "x".repeat(2_000));
    const id = await makeChange(workspace, (each) => each.remove(at("d"), { recursive: true }));
    assert.equal(
      (await trashOf(workspace).find(id).catch(() => null))?.steps.some(({ step }) =>
        "kept" in step && step.kept !== null
      ) ?? false,
      false,
    );
    assert.deepEqual(await tree(workspace), []);
  }, { trash: { keepMs: 1_000_000, maxBytes: 1_000 } });

  test(
    "what is larger than the trash and was replaced keeps the change from being undone, however it was replaced",
    async (workspace) => {
      const replacing: Record<string, (own: Workspace) => Promise<unknown>> = {
        write: (own) => own.write(at("f"), encode("new")),
        receive: (own) =>
          own.receive(
            at("f"),
            (async function* () {
              yield await Promise.resolve(encode("new"));
            })(),
          ),
        copy: (own) => own.copy(at("small"), at("f"), { overwrite: true }),
        move: (own) => own.move(at("small"), at("f"), { overwrite: true }),
        remove: (own) => own.remove(at("f")),
      };
      for (const [how, replace] of Object.entries(replacing)) {
        await fillFile(workspace, "small", "small");
        await fillFile(workspace, "f", "x".repeat(2_000));
        const id = await makeChange(workspace, async (own) => value(await replace(own) as Outcome<unknown>));
        const before = await tree(workspace);
        assert.equal(await undo(workspace, id), "not_kept", how);
        assert.deepEqual(await tree(workspace), before, how);
        assert.equal((await trashOf(workspace).find(id))?.undoneBy, null, how);
      }
      await fillFile(workspace, "small", "small");
      await undo(workspace, await makeChange(workspace, (own) => own.move(at("small"), at("free"))));
      assert.equal(await text(workspace, "small"), "small");
    },
    { trash: { keepMs: 1_000_000, maxBytes: 1_000 } },
  );

  test("the quota does not count what is kept, and holds for what is put back", async (workspace) => {
    await fillFile(workspace, "d/a", "x".repeat(80));
    const id = await makeChange(workspace, (each) => each.remove(at("d"), { recursive: true }));
    await fillFile(workspace, "b", "x".repeat(80));
    assert.equal(await undo(workspace, id), "refused quota");
    value(await workspace.remove(at("b")));
    await undo(workspace, id);
    assert.deepEqual(await tree(workspace), ["d/", "d/a"]);
  }, { limits: { maxTotalBytes: 100 } });

  test("forged ids find nothing", async (workspace) => {
    for (const id of ["", ".", "..", "../../x", "a/b", "0".repeat(9), "x".repeat(41), "000000000abcdef"]) {
      assert.equal(await trashOf(workspace).find(id), null);
      const item = { change: id, number: 1 };
      assert.equal(await trashOf(workspace).holds(item), false);
      assert.equal(reason(await trashOf(workspace).read(item, { offsetBytes: 0, lengthBytes: 1 })), "not_found");
      assert.equal(reason(await trashOf(workspace).restore(item, at("x"))), "not_found");
    }
  });
}
