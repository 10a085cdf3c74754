/** Several directories as one workspace: what is refused, what moves between them, undo, and a directory that is away. */
import assert from "node:assert/strict";
import { loadConfig } from "../../src/app/config/config.ts";
import { workspaceOpener } from "../../src/app/workspaces.ts";
import type { Change } from "../../src/files/workspace/change.ts";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import { type JoinedDirectory, joinWorkspaces } from "../../src/files/workspace/joined_workspace.ts";
import { defaultWorkspaceLimits, type Workspace, type WorkspaceRefusal } from "../../src/files/workspace/port.ts";
import { fileDeleteTool } from "../../src/files/tools/file_delete.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import type { Tool } from "../../src/mcp/tool.ts";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import { fileUndoTool } from "../../src/files/tools/file_undo.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import { answerOf, failureOf } from "../tools/with_workspace.ts";
import { workspaceFilesResource } from "../../src/files/tools/workspace_files.ts";
import { callTool, principalOf } from "./call_tool.ts";
import { currentKernel, testInEachMode } from "./disk_modes.ts";
import { at, encode, fillFile, reason, text, tree, value } from "./contract.ts";
import { makeChange, trashOf, undo } from "./trash_contract.ts";

interface Scene {
  readonly base: string;
  readonly workspace: Workspace;
  open(user: string | null): Workspace;
}

/** `notes` and `code` can be written, `library` only be read. */
async function withScene(body: (scene: Scene) => Promise<void>, env: Record<string, string> = {}): Promise<void> {
  const base = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "portcullis-" }));
  for (const name of ["notes", "code", "library"]) Deno.mkdirSync(`${base}/${name}`);
  Deno.writeTextFileSync(`${base}/library/book.txt`, "book");
  const dir = `notes=${base}/notes,code=${base}/code,library=${base}/library:ro`;
  const loaded = loadConfig({
    flags: {},
    env: { WORKSPACE_DIR: dir, DATA_DIR: `${base}/data`, ...env },
    readFile: () => "",
  });
  assert.ok(loaded.ok, JSON.stringify(loaded));
  const roots = currentKernel();
  const kernel = roots === undefined ? undefined : { available: true, roots };
  const parts = { clock: Date.now, kernel } as unknown as Parameters<typeof workspaceOpener>[1];
  const opened: Workspace[] = [];
  const opener = await workspaceOpener(loaded.value.workspace, parts);
  const open = (user: string | null): Workspace => {
    const workspace = opener(user);
    opened.push(workspace);
    return workspace;
  };
  try {
    await body({ base, workspace: open(null), open });
  } finally {
    for (const each of opened) await each.close();
    Deno.removeSync(base, { recursive: true });
  }
}

/** What a watch of the list of files looks at. */
async function topOf(workspace: Workspace): Promise<readonly string[]> {
  const principal = { ...principalOf("ada"), scopes: new Set(["files:read"]) };
  const top = await workspaceFilesResource(() => workspace).listTop?.(principal);
  return (top ?? []).map(({ uri, name }) => `${uri.replace("workspace:///", "")} ${name}`);
}

async function newest(workspace: Workspace): Promise<Change> {
  for await (const change of trashOf(workspace).changes()) return change;
  throw new assert.AssertionError({ message: "nothing was changed" });
}

testInEachMode(
  "the top level lists the directories, and belongs to the operator",
  () =>
    withScene(async ({ base, workspace }) => {
      const { entries, hasMore } = value(await workspace.list(at("")));
      assert.deepEqual([entries.map(({ name, kind }) => `${name} ${kind}`), hasMore], [
        ["code directory", "library directory", "notes directory"],
        false,
      ]);
      const two = value(await workspace.list(at(""), { limit: 1, after: "code" }));
      assert.deepEqual([two.entries.map(({ name }) => name), two.hasMore], [["library"], true]);
      assert.equal(value(await workspace.stat(at(""))).kind, "directory");
      assert.equal(reason(await workspace.read(at("absent/f"))), "not_found");
      assert.equal(reason(await workspace.read(at("NOTES/f"))), "not_found");
      await fillFile(workspace, "notes/f", "f");
      const refusals = [
        await workspace.write(at("f"), encode("x")),
        await workspace.write(at("other/f"), encode("x")),
        await workspace.makeDirectory(at("other")),
        await workspace.remove(at("notes"), { recursive: true }),
        await workspace.move(at("notes"), at("code/notes")),
        await workspace.move(at("notes/f"), at("f")),
        await workspace.copy(at("notes/f"), at("f")),
      ];
      for (const refusal of refusals) assert.deepEqual(because(refusal), "top_level");
      assert.equal(reason(await workspace.remove(at(""), { recursive: true })), "is_root");
      assert.deepEqual(Array.from(Deno.readDirSync(base), ({ name }) => name).sort(), ["code", "library", "notes"]);
    }),
);

testInEachMode(
  "a read-only directory is read and left as it is, by whatever operation",
  () =>
    withScene(async ({ base, workspace }) => {
      await fillFile(workspace, "notes/f", "f");
      assert.equal(await text(workspace, "library/book.txt"), "book");
      const own = workspace.begin({ subject: "a", clientId: "b", grantId: "c", tool: "d" });
      const refusals = [
        await own.write(at("library/new"), encode("x")),
        await own.write(at("library/book.txt"), encode("x"), { mode: "append" }),
        await own.receive(at("library/new"), pieces("x")),
        await own.copy(at("notes/f"), at("library/f")),
        await own.copy(at("library/book.txt"), at("library/copy.txt")),
        await own.move(at("library/book.txt"), at("library/b.txt")),
        await own.move(at("library/book.txt"), at("notes/b.txt")),
        await own.move(at("notes/f"), at("library/f")),
        await own.remove(at("library/book.txt")),
        await own.makeDirectory(at("library/d")),
      ];
      for (const refusal of refusals) assert.equal(because(refusal), "read_only");
      assert.equal(value(await workspace.copy(at("library/book.txt"), at("notes/b.txt"))).sizeBytes, 4);
      assert.deepEqual(Array.from(Deno.readDirSync(`${base}/library`), ({ name }) => name), ["book.txt"]);
      assert.equal(Deno.readTextFileSync(`${base}/library/book.txt`), "book");
    }),
);

testInEachMode(
  "a file is copied and moved to another directory, and undone as one change",
  () =>
    withScene(async ({ workspace }) => {
      const part = "0123456789".repeat(100_000); // three take more than one read
      for (let times = 0; times < 3; times++) {
        value(await workspace.write(at("notes/a"), encode(part), { mode: "append" }));
      }
      const isWhole = async (path: string): Promise<boolean> => {
        const ranges = [0, 1, 2].map((index) => ({ offsetBytes: index * part.length, lengthBytes: part.length }));
        const parts = await Promise.all(
          ranges.map(async (range) => value(await workspace.read(at(path), range)).bytes),
        );
        return parts.every((bytes) => new TextDecoder().decode(bytes) === part);
      };
      value(await workspace.copy(at("notes/a"), at("code/x/a")));
      assert.ok(await isWhole("code/x/a"));
      assert.equal(reason(await workspace.copy(at("notes/a"), at("code/x/a"))), "already_exists");
      const id = await makeChange(workspace, async (own) => {
        value(await own.move(at("notes/a"), at("code/y/a")));
        value(await own.write(at("notes/b"), encode("b")));
      });
      const others = ["code/", "code/x/", "code/x/a", "library/", "library/book.txt", "notes/"];
      assert.deepEqual((await tree(workspace)).sort(), [...others, "code/y/", "code/y/a", "notes/b"].sort());
      const steps = (await trashOf(workspace).find(id))?.steps.map(({ step }) => `${step.op} ${step.path}`);
      assert.deepEqual(steps, ["put code/y/a", "remove notes/a", "put notes/b"]);
      assert.equal((await newest(workspace)).id, id);
      const by = await undo(workspace, id);
      assert.deepEqual((await tree(workspace)).sort(), [...others, "notes/a"].sort());
      assert.ok(await isWhole("notes/a"));
      assert.equal((await trashOf(workspace).find(id))?.undoneBy, by);
      await undo(workspace, by);
      assert.ok(await isWhole("code/y/a"));
    }),
);

testInEachMode(
  "a file keeps who may read and run it when it is moved or copied to another directory, and one that a copy replaces its own",
  () =>
    withScene(async ({ base, workspace }) => {
      if (Deno.build.os === "windows") return; // which has no such bits
      const make = (path: string, mode: number): void => {
        Deno.writeTextFileSync(`${base}/${path}`, path);
        Deno.chmodSync(`${base}/${path}`, mode);
      };
      const bitsOf = (path: string): string => ((Deno.statSync(`${base}/${path}`).mode ?? 0) & 0o7777).toString(8);
      for (const mode of [0o750, 0o600, 0o777, 0o444, 0o640, 0o6755, 0o1700]) {
        const bits = (mode & 0o777).toString(8); // as in one directory: a copy gets no special bits
        for (const replaced of [null, 0o600, 0o666]) {
          const [own, options] = [replaced?.toString(8), { overwrite: replaced !== null }];
          make("notes/s", mode);
          for (const target of ["code/copied", "notes/copied", "code/moved"]) {
            if (replaced !== null) make(target, replaced);
          }
          value(await workspace.copy(at("notes/s"), at("code/copied"), options));
          value(await workspace.copy(at("notes/s"), at("notes/copied"), options));
          const id = await makeChange(workspace, (by) => by.move(at("notes/s"), at("code/moved"), options));
          const is = ["code/copied", "notes/copied", "code/moved"].map(bitsOf);
          assert.deepEqual(is, [own ?? bits, own ?? bits, bits], `${mode.toString(8)} over ${own}`);
          await undo(workspace, id);
          assert.equal(bitsOf("notes/s"), mode.toString(8));
          if (replaced !== null) assert.equal(bitsOf("code/moved"), own);
          for (const path of ["code/copied", "notes/copied", "notes/s"]) Deno.removeSync(`${base}/${path}`);
          if (replaced !== null) Deno.removeSync(`${base}/code/moved`);
        }
      }
    }),
);

Deno.test("a file that is written while it moves to another directory is not lost", async () => {
  const base = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "portcullis-" }));
  const directories = ["from", "to"].map((name): JoinedDirectory => {
    const own = openDiskWorkspace({ root: `${base}/${name}` });
    const written: Workspace = {
      ...own,
      begin: () => written,
      async receive(...args) {
        const received = await own.receive(...args);
        Deno.writeTextFileSync(`${base}/from/f`, "later");
        return received;
      },
    };
    return { name, isReadOnly: false, open: () => name === "to" ? written : own, close: () => own.close() };
  });
  const workspace = joinWorkspaces(directories, { clock: Date.now, limits: defaultWorkspaceLimits });
  try {
    await fillFile(workspace, "from/f", "first");
    assert.equal(reason(await workspace.move(at("from/f"), at("to/f"))), "conflict");
    assert.deepEqual([await text(workspace, "from/f"), await text(workspace, "to/f")], ["later", "first"]);
  } finally {
    await workspace.close();
    Deno.removeSync(base, { recursive: true });
  }
});

Deno.test("a move to another directory that cannot take the file away changes nothing, or says what it has changed", async () => {
  const refusals: readonly WorkspaceRefusal[] = [
    { reason: "denied", because: "permission" },
    { reason: "conflict" },
    { reason: "io", code: "EIO" },
  ];
  const cases: readonly Record<string, unknown>[] = [
    { path: "from/f", destination: "to/new/g" },
    { path: "from/f", destination: "to/old", overwrite: true },
    { paths: ["from/f"], destination: "to/new" },
    { paths: ["from/first", "from/f"], destination: "to" },
    { paths: ["from/first", "from/f"], destination: "to/d", overwrite: true },
  ];
  for (const trash of [{ keepMs: 1e9, maxBytes: 1e9 }, null]) {
    for (const [at, args] of cases.entries()) {
      const base = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "portcullis-" }));
      for (const path of ["from/first", "from/f", "to/old", "to/d/f"]) {
        Deno.mkdirSync(`${base}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
        Deno.writeTextFileSync(`${base}/${path}`, path);
      }
      const open = (name: string): Workspace =>
        openDiskWorkspace({ root: `${base}/${name}`, ...trash === null ? {} : { trash } });
      const refusing = (own: Workspace): Workspace => ({
        ...own,
        get trash() {
          return own.trash;
        },
        begin: (...rest) => refusing(own.begin(...rest)),
        remove: (path, options) => {
          const error = refusals[at % refusals.length];
          return path.text === "f" && error ? Promise.resolve({ ok: false, error }) : own.remove(path, options);
        },
      });
      const [from, to] = [refusing(open("from")), open("to")];
      const directories = [from, to].map((own): JoinedDirectory => ({
        name: own === to ? "to" : "from",
        isReadOnly: false,
        open: () => own,
        close: () => own.close(),
      }));
      const workspace = joinWorkspaces(directories, { clock: Date.now, limits: defaultWorkspaceLimits });
      const contents = async (): Promise<readonly string[]> => {
        const paths = (await tree(workspace)).filter((path) => !path.endsWith("/")).sort();
        return await Promise.all(paths.map(async (path) => `${path} ${await text(workspace, path)}`));
      };
      try {
        const before = await contents();
        const { message } = await failureOf(fileMoveTool(() => workspace), args);
        const what = `${JSON.stringify(args)} ${message}`;
        assert.match(message, /\(from\/f\)/, what);
        if (trash !== null) {
          assert.deepEqual(await contents(), before, what);
          assert.ok(!(await tree(workspace)).includes("to/new/"), what);
          assert.doesNotMatch(message, /copy/, what);
        } else {
          assert.match(message, /; to\/\S+ is a copy of it now/, what);
          assert.doesNotMatch(message, /; nothing was changed/, what);
        }
      } finally {
        await workspace.close();
        Deno.removeSync(base, { recursive: true });
      }
    }
  }
});

testInEachMode(
  "a move to another directory is not called a copy, nor a copy a move",
  () =>
    withScene(async ({ workspace }) => {
      const [move, undoing] = [fileMoveTool(() => workspace), fileUndoTool(() => workspace)];
      for (const path of ["notes/f", "notes/g", "notes/h"]) await fillFile(workspace, path, path);
      const cases = [
        [{ path: "notes/f", destination: "code/f" }, undefined],
        [{ paths: ["code/f", "notes/g"], destination: "notes/in" }, undefined],
        [{ path: "notes/h", destination: "code/h", copy: true }, "a copy"],
        [{ destination: "code/new" }, "a new directory"],
      ] as const;
      for (const [args, did] of cases) {
        await answerOf(move, args);
        const [change] = (await answerOf(undoing, {})).structured["changes"] as { did?: string }[];
        assert.equal(change?.did, did, JSON.stringify(args));
        assert.match(
          (await answerOf(undoing, { change: "last" })).text,
          did ? RegExp(`, ${did} of `) : /^Undid file_move of /,
        );
        await answerOf(move, args);
      }
    }),
);

testInEachMode(
  "a directory or a link is not moved to another directory, and says so",
  () =>
    withScene(async ({ base, workspace }) => {
      await fillFile(workspace, "notes/d/f", "f");
      Deno.symlinkSync("d/f", `${base}/notes/link`);
      assert.equal(reason(await workspace.move(at("notes/d"), at("code/d"))), "across");
      assert.equal(reason(await workspace.move(at("notes/link"), at("code/link"))), "across");
      const move = { path: "notes/d", destination: "code/d" };
      const { message } = await failureOf(fileMoveTool(() => workspace), move);
      assert.match(message, /cannot be moved into another of the workspace's directories; copy it, then delete it/);
      await answerOf(fileMoveTool(() => workspace), { ...move, copy: true });
      await answerOf(fileDeleteTool(() => workspace), { path: "code/d", recursive: true });
      value(await workspace.move(at("notes/d"), at("notes/e")));
      Deno.symlinkSync(`${base}/code`, `${base}/notes/out`);
      await fillFile(workspace, "code/f", "f");
      assert.equal(because(await workspace.read(at("notes/out/f"))), "outside_link");
      assert.equal(because(await workspace.write(at("notes/out/g"), encode("g"))), "outside_link");
    }),
);

testInEachMode("what was deleted is restored in its own directory only", () =>
  withScene(async ({ workspace }) => {
    await fillFile(workspace, "notes/f", "f");
    const id = await makeChange(workspace, (own) => own.remove(at("notes/f")));
    const trash = trashOf(workspace);
    const item = { change: id, number: (await trash.find(id))?.steps[0]?.number ?? 0 };
    assert.equal(reason(await trash.restore(item, at("code/f"))), "across");
    assert.equal(because(await trash.restore(item, at("library/f"))), "read_only");
    value(await trash.restore(item, at("notes/g")));
    assert.equal(await text(workspace, "notes/g"), "f");
  }));

testInEachMode(
  "a directory that goes away is said to be away, harms nothing, and works again when it is back",
  () =>
    withScene(async ({ base, workspace }) => {
      await fillFile(workspace, "notes/f", "f");
      await fillFile(workspace, "code/g", "g");
      Deno.renameSync(`${base}/notes`, `${base}/aside`);
      for (
        const operation of [
          () => workspace.read(at("notes/f")),
          () => workspace.list(at("notes")),
          () => workspace.write(at("notes/f"), encode("x")),
          () => workspace.remove(at("notes/f")),
          () => workspace.move(at("notes/f"), at("notes/h")),
          () => workspace.copy(at("code/g"), at("notes/g")),
          () => workspace.read(at("notes/f")),
        ]
      ) assert.equal(reason(await operation()), "away");
      assert.equal(await text(workspace, "code/g"), "g");
      assert.deepEqual(await topOf(workspace), ["code directory", "library directory", "notes away"]);
      assert.deepEqual(Array.from(Deno.readDirSync(base), ({ name }) => name).sort(), ["aside", "code", "library"]);
      Deno.renameSync(`${base}/aside`, `${base}/notes`);
      assert.deepEqual(await topOf(workspace), ["code directory", "library directory", "notes directory"]);
      assert.equal(await text(workspace, "notes/f"), "f");
      await fillFile(workspace, "notes/f", "again");
      Deno.renameSync(`${base}/notes`, `${base}/aside`);
      Deno.mkdirSync(`${base}/notes`);
      Deno.writeTextFileSync(`${base}/notes/other`, "o");
      assert.equal(reason(await workspace.read(at("notes/f"))), "away");
      assert.equal(await text(workspace, "notes/other"), "o");
    }),
);

testInEachMode(
  "a search or listing says which directories it could not look into, and nothing of what is gone by then",
  () =>
    withScene(async ({ base, workspace }) => {
      for (const path of ["notes/f", "code/d/f", "code/gone/f"]) await fillFile(workspace, path, "hit");
      const list: Workspace["list"] = (path, options) =>
        path.text === "code/d"
          ? Promise.resolve({ ok: false, error: { reason: "denied", because: "permission" } })
          : path.text === "code/gone"
          ? Promise.resolve({ ok: false, error: { reason: "not_found" } })
          : workspace.list(path, options);
      const partly = { ...workspace, list };
      const calls = (own: Workspace): readonly (readonly [Tool, Record<string, unknown>])[] => [
        ...[{ query: "hit" }, { query: "none" }, { pattern: "f" }, { pattern: "none" }, {
          query: "hit",
          exclude: ["x"],
        }].flatMap(
          (input) =>
            [input, { ...input, include_ignored: true }].map((each) => [fileSearchTool(() => own), each] as const),
        ),
        ...["names", "details", "summary", "duplicates"].flatMap((show) =>
          [{ depth: 9, show }, { depth: 9, show, include_ignored: true, exclude: ["x"] }].map((each) =>
            [fileListTool(() => own), each] as const
          )
        ),
        [fileListTool(() => own), { sort: "size", depth: 9 }],
      ];
      const said = async (own: Workspace): Promise<Set<string>> => {
        const words = new Set<string>();
        for (const [tool, input] of calls(own)) {
          const { text, structured } = await answerOf(tool, input);
          const line = text.split("\n").find((line) => line.includes("look")) ?? "";
          words.add(line);
          const names = line === "" ? undefined : line.slice("(could not look into ".length, -2).split("/, ");
          assert.deepEqual(structured["unread_directories"], names, `${tool.name} ${JSON.stringify(input)}`);
        }
        return words;
      };
      assert.deepEqual(await said(workspace), new Set([""]));
      assert.deepEqual(await said(partly), new Set(["(could not look into code/d/)"]));
      Deno.renameSync(`${base}/library`, `${base}/aside`);
      assert.deepEqual(await said(workspace), new Set(["(could not look into library/)"]));
      assert.deepEqual(await said(partly), new Set(["(could not look into code/d/, library/)"]));
    }),
);

testInEachMode(
  "a file that was read is known to be the same, until it is changed or away",
  () =>
    withScene(async ({ base, workspace }) => {
      await fillFile(workspace, "notes/f", "first");
      const known = value(await workspace.read(at("notes/f")));
      const isStill = (name: string) => workspace.isStill?.(at(name), known);
      assert.deepEqual(["notes/f", "notes/g", "code/f", "f", ""].map(isStill), [true, false, false, false, false]);
      Deno.renameSync(`${base}/notes`, `${base}/aside`);
      assert.equal(isStill("notes/f"), false);
      Deno.renameSync(`${base}/aside`, `${base}/notes`);
      await workspace.read(at("notes/f"));
      assert.equal(isStill("notes/f"), true);
      await fillFile(workspace, "notes/f", "other");
      assert.equal(isStill("notes/f"), false);
    }),
);

testInEachMode(
  "a directory that was away at the start works once it is there",
  () =>
    withScene(async ({ base, open }) => {
      Deno.renameSync(`${base}/library`, `${base}/aside`);
      const workspace = open(null);
      assert.equal(reason(await workspace.read(at("library/book.txt"))), "away");
      Deno.renameSync(`${base}/aside`, `${base}/library`);
      assert.equal(await text(workspace, "library/book.txt"), "book");
    }),
);

testInEachMode(
  "each person has a directory in each that can be written, and reads the others",
  () =>
    withScene(async ({ base, open }) => {
      const [anna, ben] = [open("anna"), open("ben")];
      await fillFile(anna, "notes/f", "anna");
      await fillFile(ben, "notes/f", "ben");
      assert.deepEqual([await text(anna, "notes/f"), await text(ben, "notes/f")], ["anna", "ben"]);
      assert.equal(Deno.readTextFileSync(`${base}/notes/anna/f`), "anna");
      assert.equal(await text(ben, "library/book.txt"), "book");
      Deno.renameSync(`${base}/notes`, `${base}/aside`);
      assert.equal(reason(await anna.write(at("notes/f"), encode("x"))), "away");
      assert.ok(
        !Array.from(Deno.readDirSync(base)).some(({ name }) => name === "notes"),
        "nothing was made in its place",
      );
    }, { WORKSPACES: "per-user" }),
);

testInEachMode(
  "WORKSPACE_DENY names directories of the workspace, too",
  () =>
    withScene(async ({ base, workspace }) => {
      for (const directory of ["notes", "code"]) {
        for (const name of ["private", "open", "x.pem"]) Deno.writeTextFileSync(`${base}/${directory}/${name}`, name);
      }
      const read = async (path: string): Promise<string> => because(await workspace.read(at(path)));
      assert.equal(await read("notes/private"), "denied_name");
      assert.equal(await read("code/private"), "");
      assert.equal(await read("code/open"), "denied_name");
      assert.equal(await read("notes/open"), "");
      assert.equal(await read("code/x.pem"), "denied_name");
      assert.equal(await read("library/book.txt"), "denied_name");
    }, { WORKSPACE_DENY: "/notes/private,code/open,*.pem,/libr*" }),
);

for (const [from, to] of [["notes", "code"], ["code", "notes"]] as const) {
  for (const missing of [from, to]) {
    testInEachMode(
      `a move from ${from} to ${to} is undone whole, or not at all where ${missing} is missing by then`,
      () =>
        withScene(async ({ base, workspace, open }) => {
          const there = missing === "notes" ? "code" : "notes";
          await fillFile(workspace, `${from}/x.txt`, "x");
          await answerOf(fileMoveTool(() => workspace), { path: `${from}/x.txt`, destination: `${to}/y.txt` });
          const moved = await tree(workspace);
          const refuse = async (by: Workspace): Promise<void> => {
            const { message } = await failureOf(fileUndoTool(() => by), { change: "last" });
            assert.match(message, new RegExp(`${missing}\\b`));
          };
          await refuse(workspace.only?.([there]) ?? assert.fail());
          Deno.renameSync(`${base}/${missing}`, `${base}/aside`);
          await refuse(workspace);
          await refuse(open(null));
          Deno.renameSync(`${base}/aside`, `${base}/${missing}`);
          assert.deepEqual(await tree(workspace), moved);
          await answerOf(fileUndoTool(() => workspace), { change: "last" });
          assert.equal(await text(workspace, `${from}/x.txt`), "x");
          assert.equal(reason(await workspace.read(at(`${to}/y.txt`))), "not_found");
        }),
    );
  }
}

testInEachMode(
  "what an undo leaves, since its directory is away, can be undone once that is back",
  () =>
    withScene(async ({ base, workspace }) => {
      const files = ["notes", "code"].map((name) => ({ filename: `${name}/x.txt`, content: "x" }));
      for (const [first, second] of [files, files.toReversed()]) {
        await answerOf(fileWriteTool(() => workspace), { ...first, files: [second] });
        Deno.renameSync(`${base}/code`, `${base}/aside`);
        await callTool(fileUndoTool(() => workspace), { change: "last" });
        Deno.renameSync(`${base}/aside`, `${base}/code`);
        await answerOf(fileUndoTool(() => workspace), { change: "last" });
        for (const { filename } of files) assert.equal(reason(await workspace.read(at(filename))), "not_found");
        await failureOf(fileUndoTool(() => workspace), { change: "last" });
      }
    }),
);

testInEachMode("the quota of each directory is its own", () =>
  withScene(async ({ workspace }) => {
    await fillFile(workspace, "notes/f", "x".repeat(90));
    await fillFile(workspace, "code/f", "x".repeat(90));
    assert.equal(reason(await workspace.write(at("code/g"), encode("x".repeat(20)))), "quota");
    assert.equal(reason(await workspace.move(at("notes/f"), at("code/h"))), "quota");
    assert.equal(await text(workspace, "notes/f"), "x".repeat(90));
  }, { WORKSPACE_QUOTA_BYTES: "100" }));

function because(outcome: { readonly ok: boolean; readonly error?: unknown }): string {
  return outcome.ok ? "" : (outcome.error as { readonly because?: string }).because ?? "";
}

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const each of texts) yield await Promise.resolve(encode(each));
}
