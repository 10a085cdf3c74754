/** What every workspace must do, whatever holds its files. */
import assert from "node:assert/strict";
import type { AccessPatterns } from "../../src/files/workspace/access_rules.ts";
import { parseDirectoryPath, type WorkspacePath } from "../../src/files/workspace/path.ts";
import type {
  Outcome,
  PairRefusal,
  Workspace,
  WorkspaceLimits,
  WorkspaceRefusal,
} from "../../src/files/workspace/port.ts";

/** Settings that the suite varies. */
export interface ContractSettings {
  readonly limits?: Partial<WorkspaceLimits>;
  readonly access?: AccessPatterns;
  readonly trash?: { readonly keepMs: number; readonly maxBytes: number };
  readonly clock?: () => number;
}

/** A new, empty workspace; `dispose` closes it and takes away what held it. */
export interface OpenedWorkspace {
  readonly workspace: Workspace;
  /** Another program gives the entry in the root another name. */
  rename(name: string, to: string): Promise<void>;
  dispose(): Promise<void>;
}

/** Makes workspaces for the suite. */
export type OpenWorkspace = (settings: ContractSettings) => Promise<OpenedWorkspace>;

/** Keeps more than the suite replaces. */
export const roomyTrash = { keepMs: 60_000_000, maxBytes: 100_000_000 };

/** Runs the whole suite against the workspaces that `open` makes, without a trash and with one. */
export function testWorkspaceContract(name: string, open: OpenWorkspace): void {
  testWorkspace(name, open);
  testWorkspace(`${name} with a trash`, (settings) => open({ ...settings, trash: roomyTrash }));
}

function testWorkspace(name: string, open: OpenWorkspace): void {
  const test = (
    what: string,
    body: (workspace: Workspace) => Promise<void>,
    settings: ContractSettings = {},
  ): void =>
    Deno.test(`${name}: ${what}`, async () => {
      const { workspace, dispose } = await open(settings);
      try {
        await body(workspace);
      } finally {
        await dispose();
      }
    });

  test("what is written is read back, with its size and SHA-256", async (workspace) => {
    const written = value(await workspace.write(at("a/b/c.txt"), encode("abc")));
    const sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert.deepEqual(written, { sizeBytes: 3, sha256, created: true });
    const read = value(await workspace.read(at("a/b/c.txt")));
    assert.deepEqual([decode(read.bytes), read.sizeBytes, read.sha256], ["abc", 3, sha256]);
    assert.deepEqual(value(await workspace.write(at("a/b/c.txt"), encode(""))).created, false);
    assert.equal(await text(workspace, "a/b/c.txt"), "");
  });

  test("receive() writes what arrives in pieces once all is there, and nothing where the content throws", async (workspace) => {
    await fillFile(workspace, "f", "old");
    const during: string[] = [];
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (const piece of ["ab", "", "c"]) {
        during.push(await text(workspace, "f"));
        yield encode(piece);
      }
    }
    const sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert.deepEqual(value(await workspace.receive(at("f"), pieces())), { sizeBytes: 3, sha256, created: false });
    assert.deepEqual(during, ["old", "old", "old"]);
    assert.equal(await text(workspace, "f"), "abc");
    class Gone extends Error {}
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(new Uint8Array(1_000_000));
      throw new Gone();
    }
    await assert.rejects(workspace.receive(at("f"), broken()), Gone);
    await assert.rejects(workspace.receive(at("new/g"), broken()), Gone);
    assert.equal(await text(workspace, "f"), "abc");
    assert.deepEqual(value(await workspace.list(at(""))).entries.map(({ name }) => name), ["f"]);
    assert.equal(value(await workspace.receive(at("new/g"), pieces())).created, true);
  });

  test("receive() keeps the rules of mode and ifMatch, also against what is written meanwhile", async (workspace) => {
    await fillFile(workspace, "f", "abc");
    const sha256 = value(await workspace.read(at("f"))).sha256 ?? "";
    async function* late(name: string): AsyncGenerator<Uint8Array> {
      yield encode("x");
      await fillFile(workspace, name, "meanwhile");
    }
    assert.deepEqual(reason(await workspace.receive(at("f"), late("g"), { mode: "create" })), "already_exists");
    assert.deepEqual(reason(await workspace.receive(at("n"), late("n"), { mode: "create" })), "already_exists");
    assert.equal(await text(workspace, "n"), "meanwhile");
    assert.deepEqual(reason(await workspace.receive(at("f"), late("f"), { ifMatch: sha256 })), "conflict");
    assert.deepEqual(reason(await workspace.receive(at("f"), late("f"), { ifMatch: sha256 })), "conflict");
    assert.equal(await text(workspace, "f"), "meanwhile");
    const now = value(await workspace.read(at("f"))).sha256 ?? "";
    assert.equal(value(await workspace.receive(at("f"), late("other"), { ifMatch: now })).sizeBytes, 1);
  });

  test(
    "receive() takes more than a write may bring, up to its own bound",
    async (workspace) => {
      async function* zeros(count: number): AsyncGenerator<Uint8Array> {
        for (let index = 0; index < count; index++) yield await Promise.resolve(new Uint8Array(100_000));
      }
      assert.equal(value(await workspace.receive(at("f"), zeros(10))).sizeBytes, 1_000_000);
      assert.equal(reason(await workspace.receive(at("g"), zeros(11))), "too_large");
      assert.equal(reason(await workspace.stat(at("g"))), "not_found");
    },
    { limits: { maxWriteBytes: 1_000, maxFileBytes: 1_000, maxArrivingBytes: 1_000_000 } },
  );

  test(
    "receive() ends where the quota does, also for several at once, and gives the room back",
    async (workspace) => {
      await fillFile(workspace, "f", "x".repeat(400_000));
      async function* zeros(count: number): AsyncGenerator<Uint8Array> {
        for (let index = 0; index < count; index++) yield await Promise.resolve(new Uint8Array(200_000));
      }
      const both = await Promise.all([
        workspace.receive(at("g"), zeros(8)),
        workspace.receive(at("h"), zeros(8)),
      ]);
      assert.ok(both.some((outcome) => !outcome.ok), "3.2 MB do not fit into the 1.6 that are left");
      for (const outcome of both) if (!outcome.ok) assert.equal(outcome.error.reason, "quota");
      assert.equal(reason(await workspace.receive(at("i"), zeros(20))), "quota");
      for (const name of ["g", "h"]) await workspace.remove(at(name));
      assert.equal(value(await workspace.receive(at("g"), zeros(8))).created, true);
      assert.equal(value(await workspace.receive(at("f"), zeros(2))).created, false);
    },
    { limits: { maxTotalBytes: 2_000_000 } },
  );

  test("read() of a range gives the part and the whole size, and parts of one content have one version", async (workspace) => {
    await fillFile(workspace, "f", "0123456789");
    const first = value(await workspace.read(at("f"), { offsetBytes: 2, lengthBytes: 3 }));
    assert.deepEqual([decode(first.bytes), first.sizeBytes, first.sha256], ["234", 10, null]);
    const past = value(await workspace.read(at("f"), { offsetBytes: 8, lengthBytes: 100 }));
    assert.deepEqual([decode(past.bytes), past.version], ["89", first.version]);
    assert.equal(value(await workspace.read(at("f"), { offsetBytes: 100, lengthBytes: 1 })).bytes.length, 0);
    await fillFile(workspace, "f", "9876543210");
    assert.notEqual(value(await workspace.read(at("f"))).version, first.version);
  });

  test(
    "readInto() fills the buffer from an offset, no further than the file and maxReadBytes go",
    async (workspace) => {
      await fillFile(workspace, "f", "0123456789");
      await workspace.makeDirectory(at("d"));
      const buffer = new Uint8Array(6).fill(0x5f);
      const part = async (offset: number): Promise<readonly [string, number]> => {
        const { lengthBytes, sizeBytes } = value(await workspace.readInto(at("f"), buffer, offset));
        return [decode(buffer.subarray(0, lengthBytes)), sizeBytes];
      };
      assert.deepEqual(await part(0), ["0123", 10]);
      assert.equal(decode(buffer), "0123__");
      assert.deepEqual(await part(3), ["3456", 10]);
      assert.deepEqual(await part(8), ["89", 10]);
      assert.deepEqual(await part(10), ["", 10]);
      assert.deepEqual(await part(99), ["", 10]);
      assert.equal(reason(await workspace.readInto(at("d"), buffer, 0)), "is_directory");
      assert.equal(reason(await workspace.readInto(at("none"), buffer, 0)), "not_found");
    },
    { limits: { maxReadBytes: 4 } },
  );

  test("readInto() reads what is too long for one synchronous read", async (workspace) => {
    const content = Uint8Array.from({ length: 900_000 }, (_, index) => index % 251);
    value(await workspace.write(at("f"), content));
    const buffer = new Uint8Array(1_000_000);
    assert.deepEqual(value(await workspace.readInto(at("f"), buffer, 5)), { lengthBytes: 899_995, sizeBytes: 900_000 });
    assert.deepEqual(buffer.subarray(0, 899_995), content.subarray(5));
  });

  test("files of every size around the limits are kept exactly", async (workspace) => {
    for (const size of [0, 1, 45_000, 61_440, 61_441, 262_145, 900_000]) {
      const content = new Uint8Array(size).map((_, index) => (index * 31 + size) % 256);
      value(await workspace.write(at("f"), content));
      assert.deepEqual(value(await workspace.read(at("f"))).bytes, content);
      const middle = value(await workspace.read(at("f"), { offsetBytes: size >> 1, lengthBytes: 70_000 }));
      assert.deepEqual(middle.bytes, content.subarray(size >> 1, (size >> 1) + 70_000));
    }
  });

  test("reads and writes past their limits are refused", async (workspace) => {
    assert.deepEqual(refusal(await workspace.write(at("f"), new Uint8Array(101))), {
      reason: "too_large",
      sizeBytes: 101,
      limitBytes: 100,
    });
    await fillFile(workspace, "f", "x".repeat(100));
    assert.deepEqual(refusal(await workspace.read(at("f"))), { reason: "too_large", sizeBytes: 100, limitBytes: 50 });
    assert.equal(value(await workspace.read(at("f"), { offsetBytes: 0, lengthBytes: 100 })).bytes.length, 50);
    const options = { mode: "append" } as const;
    value(await workspace.write(at("f"), new Uint8Array(50), options));
    assert.deepEqual(refusal(await workspace.write(at("f"), new Uint8Array(51), options)), {
      reason: "too_large",
      sizeBytes: 201,
      limitBytes: 200,
    });
  }, { limits: { maxReadBytes: 50, maxWriteBytes: 100, maxFileBytes: 200 } });

  test("mode create refuses what is there; append adds at the end or creates", async (workspace) => {
    value(await workspace.write(at("f"), encode("one"), { mode: "create" }));
    assert.equal(reason(await workspace.write(at("f"), encode("two"), { mode: "create" })), "already_exists");
    const appended = value(await workspace.write(at("f"), encode("+two"), { mode: "append" }));
    assert.deepEqual([appended.sizeBytes, appended.created], [7, false]);
    assert.equal(await text(workspace, "f"), "one+two");
    assert.equal(appended.sha256, value(await workspace.read(at("f"))).sha256);
    assert.equal(value(await workspace.write(at("g"), encode("new"), { mode: "append" })).created, true);
  });

  test("ifMatch lets a write through only onto the content that it names", async (workspace) => {
    const { sha256 } = value(await workspace.write(at("f"), encode("one")));
    for (const mode of ["overwrite", "append"] as const) {
      const options = { mode, ifMatch: "0".repeat(64) };
      assert.equal(reason(await workspace.write(at("f"), encode("x"), options)), "conflict");
      assert.equal(reason(await workspace.write(at("none"), encode("x"), options)), "conflict");
    }
    assert.equal(await text(workspace, "f"), "one");
    value(await workspace.write(at("f"), encode("two"), { ifMatch: sha256.toUpperCase() }));
    assert.equal(reason(await workspace.write(at("f"), encode("three"), { ifMatch: sha256 })), "conflict");
    assert.equal(await text(workspace, "f"), "two");
  });

  test("of 20 concurrent conditional writers exactly one wins", async (workspace) => {
    const { sha256 } = value(await workspace.write(at("f"), encode("start")));
    const outcomes = await Promise.all(
      Array.from(
        { length: 20 },
        (_, writer) => workspace.write(at("f"), encode(`writer ${writer}`), { ifMatch: sha256 }),
      ),
    );
    const winner = outcomes.findIndex(({ ok }) => ok);
    assert.equal(outcomes.filter(({ ok }) => ok).length, 1);
    assert.ok(outcomes.every((outcome) => outcome.ok || outcome.error.reason === "conflict"));
    assert.equal(await text(workspace, "f"), `writer ${winner}`);
  });

  test("of 20 concurrent creators exactly one wins, and 20 concurrent appenders all leave their mark", async (workspace) => {
    const created = await Promise.all(
      Array.from({ length: 20 }, (_, n) => workspace.write(at("d/f"), encode(`${n}\n`), { mode: "create" })),
    );
    assert.equal(created.filter(({ ok }) => ok).length, 1);
    const appended = await Promise.all(
      Array.from({ length: 20 }, (_, n) => workspace.write(at("log"), encode(`${n}\n`), { mode: "append" })),
    );
    assert.ok(appended.every(({ ok }) => ok));
    const lines = (await text(workspace, "log")).trimEnd().split("\n").map(Number).sort((a, b) => a - b);
    assert.deepEqual(lines, Array.from({ length: 20 }, (_, n) => n));
  });

  test("directories are not files and files are not directories", async (workspace) => {
    await fillFile(workspace, "d/f", "x");
    assert.equal(reason(await workspace.read(at("d"))), "is_directory");
    assert.equal(reason(await workspace.read(at(""))), "is_directory");
    assert.equal(reason(await workspace.write(at("d"), encode("x"))), "is_directory");
    assert.equal(reason(await workspace.write(at("d/f/g"), encode("x"))), "not_a_directory");
    assert.equal(reason(await workspace.read(at("d/f/g"))), "not_a_directory");
    assert.equal(reason(await workspace.list(at("d/f"))), "not_a_directory");
    assert.equal(reason(await workspace.makeDirectory(at("d/f"))), "already_exists");
    assert.equal(reason(await workspace.makeDirectory(at("d/f/g"))), "not_a_directory");
  });

  test("what is not there is not found", async (workspace) => {
    assert.equal(reason(await workspace.read(at("none"))), "not_found");
    assert.equal(reason(await workspace.read(at("none/none"))), "not_found");
    assert.equal(reason(await workspace.stat(at("none"))), "not_found");
    assert.equal(reason(await workspace.list(at("none"))), "not_found");
    assert.equal(reason(await workspace.remove(at("none"))), "not_found");
    assert.equal(reason(await workspace.move(at("none"), at("other"))), "not_found");
    assert.equal(reason(await workspace.copy(at("none"), at("other"))), "not_found");
    assert.equal(reason(await workspace.stat(at("other"))), "not_found");
  });

  test("new names that mislead are refused, in every operation that makes names", async (workspace) => {
    await fillFile(workspace, "f", "x");
    for (const name of ["ab:c", "nul", "a.", "x\u202ey", "d /f"]) {
      assert.equal(reason(await workspace.write(at(name), encode("x"))), "bad_name");
      assert.equal(reason(await workspace.makeDirectory(at(name))), "bad_name");
      assert.equal(reason(await workspace.move(at("f"), at(name))), "bad_name");
      assert.equal(reason(await workspace.copy(at("f"), at(name))), "bad_name");
    }
    assert.deepEqual(await tree(workspace), ["f"]);
  });

  test("stat() tells kind, size and time", async (workspace) => {
    const before = Date.now();
    await fillFile(workspace, "d/f", "12345");
    const file = value(await workspace.stat(at("d/f")));
    assert.deepEqual([file.kind, file.sizeBytes], ["file", 5]);
    assert.ok(file.modifiedAt >= before - 2000 && file.modifiedAt <= Date.now() + 2000);
    assert.equal(value(await workspace.stat(at("d"))).kind, "directory");
    assert.equal(value(await workspace.stat(at(""))).kind, "directory");
  });

  test("list() sorts by name and gives pages that join without gap or overlap", async (workspace) => {
    const names = Array.from({ length: 25 }, (_, n) => `n${n}`);
    for (const name of names) await fillFile(workspace, name, name);
    value(await workspace.makeDirectory(at("n5.d")));
    const expected = [...names, "n5.d"].sort();
    const seen: string[] = [];
    let after: string | undefined;
    for (;;) {
      const page = value(await workspace.list(at(""), { limit: 7, ...after === undefined ? {} : { after } }));
      seen.push(...page.entries.map(({ name }) => name));
      assert.ok(page.entries.length <= 7);
      if (!page.hasMore) break;
      after = page.entries.at(-1)?.name;
    }
    assert.deepEqual(seen, expected);
    const whole = value(await workspace.list(at("")));
    assert.deepEqual([whole.entries.length, whole.hasMore], [10, true]);
    const detailed = value(await workspace.list(at(""), { after: "n24", limit: 2, details: true })).entries;
    assert.deepEqual(detailed.map(({ name, kind, sizeBytes }) => [name, kind, sizeBytes]), [
      ["n3", "file", 2],
      ["n4", "file", 2],
    ]);
    assert.ok(detailed.every(({ modifiedAt }) => modifiedAt !== undefined));
  }, { limits: { maxListEntries: 10 } });

  test("copy() copies the content and keeps what is there unless asked", async (workspace) => {
    await fillFile(workspace, "a", "one");
    const copied = value(await workspace.copy(at("a"), at("d/b")));
    assert.deepEqual([copied.sizeBytes, copied.created], [3, true]);
    assert.equal(copied.sha256, value(await workspace.read(at("a"))).sha256);
    await fillFile(workspace, "a", "two");
    assert.equal(await text(workspace, "d/b"), "one");
    assert.equal(reason(await workspace.copy(at("a"), at("d/b"))), "already_exists");
    value(await workspace.copy(at("a"), at("d/b"), { overwrite: true }));
    assert.equal(await text(workspace, "d/b"), "two");
    assert.equal(reason(await workspace.copy(at("d"), at("e"))), "is_directory");
    assert.equal(reason(await workspace.copy(at("a"), at("d"), { overwrite: true })), "is_directory");
  });

  test("move() moves files and directories and keeps what is there unless asked", async (workspace) => {
    await fillFile(workspace, "d/f", "one");
    await fillFile(workspace, "g", "two");
    value(await workspace.move(at("d"), at("x/y")));
    assert.deepEqual(await tree(workspace), ["g", "x/", "x/y/", "x/y/f"]);
    assert.equal(reason(await workspace.move(at("g"), at("x/y/f"))), "already_exists");
    value(await workspace.move(at("g"), at("x/y/f"), { overwrite: true }));
    assert.equal(await text(workspace, "x/y/f"), "two");
    assert.equal(reason(await workspace.move(at("x"), at("x/y/z"))), "into_itself");
    assert.equal(reason(await workspace.move(at("x/y/f"), at("x"), { overwrite: true })), "is_directory");
    assert.equal(reason(await workspace.move(at(""), at("w"))), "is_root");
    assert.equal(reason(await workspace.move(at("x"), at(""))), "is_root");
    assert.deepEqual(await tree(workspace), ["x/", "x/y/", "x/y/f"]);
  });

  test("remove() takes files and empty directories, and full ones only if asked", async (workspace) => {
    await fillFile(workspace, "d/e/f", "x");
    await fillFile(workspace, "g", "x");
    assert.equal(reason(await workspace.remove(at("d"))), "not_empty");
    assert.deepEqual(value(await workspace.remove(at("g"))), { entries: 1 });
    assert.deepEqual(value(await workspace.remove(at("d"), { recursive: true })), { entries: 3 });
    assert.deepEqual(await tree(workspace), []);
    value(await workspace.makeDirectory(at("empty")));
    assert.deepEqual(value(await workspace.remove(at("empty"))), { entries: 1 });
    assert.equal(reason(await workspace.remove(at(""), { recursive: true })), "is_root");
  });

  test("remove() refuses a tree with more than maxTreeEntries, unless the trash takes it", async (workspace) => {
    if (workspace.trash !== null) {
      for (let n = 0; n < 7; n++) await fillFile(workspace, `d/${n}`, "x");
      return assert.equal(value(await workspace.remove(at("d"), { recursive: true })).entries, 8);
    }
    for (let n = 0; n < 6; n++) await fillFile(workspace, `d/${n}`, "x");
    assert.equal(reason(await workspace.remove(at("d"), { recursive: true })), "too_many_entries");
    assert.equal((await tree(workspace)).length, 7);
    value(await workspace.remove(at("d/5")));
    assert.equal(value(await workspace.remove(at("d"), { recursive: true })).entries, 6);
  }, { limits: { maxTreeEntries: 6 } });

  test("makeDirectory() makes parents, and is content with what is there", async (workspace) => {
    assert.deepEqual(value(await workspace.makeDirectory(at("a/b/c"))), { created: true });
    assert.deepEqual(value(await workspace.makeDirectory(at("a/b"))), { created: false });
    assert.deepEqual(value(await workspace.makeDirectory(at(""))), { created: false });
    assert.deepEqual(await tree(workspace), ["a/", "a/b/", "a/b/c/"]);
  });

  test("protected names are read only, whatever their case", async (workspace) => {
    for (const path of [".git/config", ".GIT/config", "d/.git/hooks/pre-commit", ".git"]) {
      assert.deepEqual(refusal(await workspace.write(at(path), encode("x"))), protectedName);
      assert.deepEqual(refusal(await workspace.makeDirectory(at(path))), protectedName);
    }
    await fillFile(workspace, "git/config", "x");
    assert.deepEqual(refusal(await workspace.move(at("git"), at(".git"))), protectedName);
    assert.deepEqual(refusal(await workspace.copy(at("git/config"), at(".git/config"))), protectedName);
    assert.deepEqual(await tree(workspace), ["git/", "git/config"]);
  });

  test("denied names cannot be reached or listed, also by moving what holds them", async (workspace) => {
    const deniedName = { reason: "denied", because: "denied_name" };
    await fillFile(workspace, "safe/f", "x");
    await fillFile(workspace, "other/keys/k", "x");
    assert.deepEqual(refusal(await workspace.write(at("d/x.pem"), encode("x"))), deniedName);
    assert.deepEqual(refusal(await workspace.read(at("X.PEM"))), deniedName);
    assert.deepEqual(refusal(await workspace.move(at("safe/f"), at("f.pem"))), deniedName);
    assert.deepEqual(refusal(await workspace.makeDirectory(at("secrets/keys"))), deniedName);
    assert.deepEqual(refusal(await workspace.move(at("other"), at("secrets"))), deniedName);
    value(await workspace.move(at("other"), at("others")));
    assert.deepEqual(await tree(workspace), ["others/", "others/keys/", "others/keys/k", "safe/", "safe/f"]);
  }, { access: { denied: ["*.pem", "/secrets/keys"] } });

  test("a quota of bytes holds for writes, appends and copies, and deleting makes room", async (workspace) => {
    const quota = { reason: "quota", limit: 100 };
    await fillFile(workspace, "a", "x".repeat(60));
    assert.deepEqual(refusal(await workspace.write(at("b"), encode("x".repeat(41)))), quota);
    assert.deepEqual(refusal(await workspace.copy(at("a"), at("b"))), quota);
    assert.deepEqual(refusal(await workspace.write(at("a"), encode("x".repeat(41)), { mode: "append" })), quota);
    await fillFile(workspace, "b", "x".repeat(40));
    await fillFile(workspace, "a", "x".repeat(50));
    value(await workspace.remove(at("b")));
    await fillFile(workspace, "c", "x".repeat(50));
    value(await workspace.move(at("c"), at("a"), { overwrite: true }));
    await fillFile(workspace, "d", "x".repeat(50));
    value(await workspace.remove(at("d")));
    await fillFile(workspace, "e/f", "x".repeat(50));
    value(await workspace.remove(at("e"), { recursive: true }));
    await fillFile(workspace, "g", "x".repeat(50));
  }, { limits: { maxTotalBytes: 100 } });
}

const protectedName = { reason: "denied", because: "protected_name" };

/** A path, of a file or directory; the text must be one that the grammar accepts. */
export function at(text: string): WorkspacePath {
  const parsed = parseDirectoryPath(text);
  assert.ok(parsed.ok, text);
  return parsed.value;
}

/** Every path in the workspace, directories with a slash, in order. */
export async function tree(workspace: Workspace, directory = ""): Promise<string[]> {
  const paths: string[] = [];
  for (let after: string | undefined;;) {
    const listing = value(await workspace.list(at(directory), after === undefined ? {} : { after }));
    for (const { name, kind } of listing.entries) {
      const path = directory === "" ? name : `${directory}/${name}`;
      paths.push(kind === "directory" ? `${path}/` : path);
      if (kind === "directory") paths.push(...await tree(workspace, path));
      after = name;
    }
    if (!listing.hasMore) return paths;
  }
}

export function encode(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

export async function fillFile(workspace: Workspace, path: string, content: string): Promise<void> {
  value(await workspace.write(at(path), encode(content)));
}

export async function text(workspace: Workspace, path: string): Promise<string> {
  return decode(value(await workspace.read(at(path))).bytes);
}

export function value<T>(outcome: Outcome<T>): T {
  assert.ok(outcome.ok, outcome.ok ? "" : JSON.stringify(outcome.error));
  return outcome.value;
}

function refusal(outcome: Outcome<unknown>): unknown {
  if (outcome.ok) return "no refusal";
  const { about: _, ...error }: WorkspaceRefusal & Partial<PairRefusal> = outcome.error;
  return error;
}

export function reason(outcome: Outcome<unknown>): string {
  return outcome.ok ? "no refusal" : outcome.error.reason;
}
