import assert from "node:assert/strict";
import process from "node:process";
import fc from "fast-check";
import { systemClock } from "../../src/lib/time.ts";
import type { Storage } from "../../src/storage/port.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import type { Outcome, Workspace } from "../../src/files/workspace/port.ts";
import { openStoreWorkspace } from "../../src/files/store/store_workspace.ts";
import { at } from "./contract.ts";
import { createModel, type Expected, type ModelWorkspace } from "./model.ts";
import { checkProperty, quickDirectory } from "./property_runs.ts";
import { openDiskWorkspace, testInEachMode } from "./disk_modes.ts";

/** After so many sequences a new database: what they wrote must fit into a small file system in memory. */
const roundsPerStorage = 100;

const path = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));
const operation = fc.oneof(
  fc.record({ kind: fc.constant("read" as const), path }),
  fc.record({
    kind: fc.constant("write" as const),
    path,
    size: fc.constantFrom(0, 1, 10, 100, 70_000),
    mode: fc.constantFrom("overwrite" as const, "create" as const, "append" as const),
  }),
  fc.record({ kind: fc.constant("copy" as const), path, to: path, overwrite: fc.boolean() }),
  fc.record({ kind: fc.constant("move" as const), path, to: path, overwrite: fc.boolean() }),
  fc.record({ kind: fc.constant("remove" as const), path, recursive: fc.boolean() }),
  fc.record({ kind: fc.constant("makeDirectory" as const), path }),
  fc.record({ kind: fc.constant("list" as const), path }),
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

testInEachMode("disk and store do what a plain map does, for random sequences of operations", async () => {
  const directory = quickDirectory();
  const open = (round: number): Storage =>
    openSqliteStorage({ path: `${directory}/${round}.sqlite`, clock: systemClock });
  let round = 0;
  let operationCount = 0;
  let storage = open(round);
  const close = async (): Promise<void> => {
    await storage.close();
    for (const { name } of [...Deno.readDirSync(directory)]) {
      Deno.removeSync(`${directory}/${name}`, { recursive: true });
    }
  };
  try {
    await checkProperty(
      "disk and store against the model",
      fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 40 }), async (operations) => {
        if (++round % roundsPerStorage === 0) {
          await close();
          storage = open(round);
        }
        operationCount += operations.length;
        const disk = openDiskWorkspace({ root: `${directory}/ws${round}` });
        const store = openStoreWorkspace({ storage, name: String(round) });
        const model = createModel();
        try {
          for (const [index, each] of operations.entries()) {
            const expected = expect(model, each, index);
            const what = `${index}: ${JSON.stringify(each)}`;
            assert.deepEqual(await perform(disk, each, index), expected, `disk, ${what}`);
            assert.deepEqual(await perform(store, each, index), expected, `store, ${what}`);
          }
        } finally {
          await Promise.all([disk.close(), store.close()]);
        }
      }),
    );
    process.stdout.write(`${operationCount} operations on each backend\n`);
  } finally {
    await close();
    Deno.removeSync(directory, { recursive: true });
  }
});

function contentOf(size: number, index: number): string {
  return String.fromCharCode(97 + index % 26).repeat(size);
}

function expect(model: ModelWorkspace, each: Operation, index: number): Expected {
  switch (each.kind) {
    case "read":
      return model.read(each.path);
    case "write":
      return model.write(each.path, contentOf(each.size, index), each.mode);
    case "copy":
      return model.copy(each.path, each.to, each.overwrite);
    case "move":
      return model.move(each.path, each.to, each.overwrite);
    case "remove":
      return model.remove(each.path, each.recursive);
    case "makeDirectory":
      return model.makeDirectory(each.path);
    case "list":
      return model.list(each.path);
  }
}

async function perform(workspace: Workspace, each: Operation, index: number): Promise<Expected> {
  switch (each.kind) {
    case "read":
      return toExpected(await workspace.read(at(each.path)), ({ bytes }) => new TextDecoder().decode(bytes));
    case "write": {
      const bytes = new TextEncoder().encode(contentOf(each.size, index));
      return toExpected(await workspace.write(at(each.path), bytes, { mode: each.mode }), toWritten);
    }
    case "copy":
      return toExpected(await workspace.copy(at(each.path), at(each.to), { overwrite: each.overwrite }), toWritten);
    case "move":
      return toExpected(
        await workspace.move(at(each.path), at(each.to), { overwrite: each.overwrite }),
        () => null,
      );
    case "remove":
      return toExpected(await workspace.remove(at(each.path), { recursive: each.recursive }), (value) => value);
    case "makeDirectory":
      return toExpected(await workspace.makeDirectory(at(each.path)), (value) => value);
    case "list":
      return toExpected(
        await workspace.list(at(each.path)),
        ({ entries }) => entries.map(({ name, kind }) => kind === "directory" ? `${name}/` : name),
      );
  }
}

function toExpected<T>(outcome: Outcome<T>, toValue: (value: T) => unknown): Expected {
  return outcome.ok ? { ok: true, value: toValue(outcome.value) } : { ok: false, reason: outcome.error.reason };
}

function toWritten({ created, sizeBytes }: { readonly created: boolean; readonly sizeBytes: number }): unknown {
  return { created, sizeBytes };
}
