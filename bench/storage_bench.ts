/**
 * `deno run --allow-all bench/storage_bench.ts`: what the storage drivers do in a second, as ratios to SQLite, for one
 * caller that waits for each answer and for 32 at once. Real disk, every write durable; rounds in turn, medians.
 */
import process from "node:process";
import { parseDatabaseUrl } from "../src/storage/mod_settings.ts";
import type { Storage, StorageKey } from "../src/storage/port.ts";
import { openPostgresStorage } from "../src/storage/postgres_storage.ts";
import { openSqliteStorage } from "../src/storage/sqlite_storage.ts";
import { findPostgres, startPostgresCluster } from "../tests/storage/postgres_cluster.ts";

const rounds = Number(process.env["BENCH_ROUNDS"] ?? "3");
const millisecondsPerRound = Number(process.env["BENCH_SECONDS"] ?? "0.4") * 1_000;
const concurrencies = [1, 32];

interface Driver {
  readonly name: string;
  readonly storage: Storage;
}

const value = { subject: "owner", clientId: "client", scopes: ["files:read", "files:write"], issuedAt: 1 };
const expiresAt = Date.now() + 3_600_000;
const keyOf = (at: number): StorageKey => ["grant", `5f0c-${at}`];
let written = 0;

/** Each gives one step, whose cost is measured; `prepare` is not. */
const operations: Readonly<
  Record<
    string,
    (storage: Storage) => { step: () => Promise<unknown> | number; prepare?: (steps: number) => Promise<void> }
  >
> = {
  get: (storage) => ({ step: () => storage.get(keyOf(Math.floor(Math.random() * 1_000))) }),
  set: (storage) => ({ step: () => storage.commit({ puts: [{ key: ["set", String(written++)], value, expiresAt }] }) }),
  consume: (storage) => {
    let next = 0;
    let made = 0;
    return {
      async prepare(steps) {
        while (made < next + steps) {
          const puts = Array.from(
            { length: 100 },
            () => ({ key: ["code", String(made++)] as const, value, expiresAt }),
          );
          await storage.commit({ puts });
        }
      },
      async step() {
        if (await storage.consume(["code", String(next++)]) === null) throw new Error("a code was not there");
      },
    };
  },
  changeCount: (storage) => ({ step: () => storage.changeCount() as Promise<number> }),
};

/** Steps a second of `concurrency` callers. */
async function measure(
  operation: ReturnType<NonNullable<(typeof operations)[string]>>,
  concurrency: number,
): Promise<number> {
  const batch = 64;
  let steps = 0;
  let spent = 0;
  while (spent < millisecondsPerRound) {
    await operation.prepare?.(batch);
    const start = performance.now();
    let left = batch;
    await Promise.all(Array.from({ length: concurrency }, async () => {
      while (left-- > 0) await operation.step();
    }));
    spent += performance.now() - start;
    steps += batch;
  }
  return steps / spent * 1_000;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const directory = await Deno.makeTempDir({ prefix: "portcullis-bench-" });
const found = findPostgres();
const cluster = "missing" in found ? null : await startPostgresCluster(found.programs, { settings: ["fsync = on"] });
try {
  const drivers: Driver[] = [
    { name: "sqlite", storage: openSqliteStorage({ path: `${directory}/portcullis.db`, clock: Date.now }) },
  ];
  const location = cluster && parseDatabaseUrl(cluster.url);
  if (location?.ok && location.value.kind === "postgres") {
    drivers.push({
      name: "postgres",
      storage: await openPostgresStorage({ location: location.value, clock: Date.now }),
    });
  } else process.stdout.write(`SKIPPED postgres: ${"missing" in found ? found.missing : "no location"}\n`);
  for (const { storage } of drivers) {
    for (let at = 0; at < 1_000; at += 100) {
      const puts = Array.from({ length: 100 }, (_, offset) => ({ key: keyOf(at + offset), value, expiresAt }));
      await storage.commit({ puts });
    }
  }
  process.stdout.write(
    `${rounds} rounds of ${millisecondsPerRound} ms, medians; ratios to sqlite, and steps a second\n\n`,
  );
  const columns = [16, 8, ...drivers.map(() => 20)];
  const row = (cells: readonly string[]) =>
    void process.stdout.write(cells.map((cell, at) => cell.padEnd(columns[at] ?? 20)).join("").trimEnd() + "\n");
  row(["operation", "callers", ...drivers.map(({ name }) => name)]);
  for (const [name, makeOperation] of Object.entries(operations)) {
    const made = drivers.map(({ storage }) => makeOperation(storage));
    for (const concurrency of concurrencies) {
      const rates = made.map((): number[] => []);
      for (let round = 0; round < rounds; round++) {
        for (const [at, operation] of made.entries()) rates[at]?.push(await measure(operation, concurrency));
      }
      const [base = Number.NaN, ...others] = rates.map(median);
      row([
        name,
        String(concurrency),
        ...[base, ...others].map((rate) => `${(rate / base).toFixed(2)} (${Math.round(rate)})`),
      ]);
    }
  }
  for (const { storage } of drivers) await storage.close();
} finally {
  await cluster?.[Symbol.asyncDispose]();
  await Deno.remove(directory, { recursive: true });
}
