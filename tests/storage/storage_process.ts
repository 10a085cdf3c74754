/** A process that works on a storage, for tests with several: `DRIVER LOCATION TASK [WORD]`. One line of output a step. */
import { writeSync } from "node:fs";
import process from "node:process";
import { parseDatabaseUrl } from "../../src/storage/mod_settings.ts";
import type { Storage } from "../../src/storage/port.ts";
import { openPostgresStorage } from "../../src/storage/postgres_storage.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";

const say = (line: string | number): void => void writeSync(process.stdout.fd, `${line}\n`);

const openers: Readonly<Record<string, (location: string) => Storage | Promise<Storage>>> = {
  postgres: async (location) => {
    const [url = "", schema = ""] = location.split("#");
    const parsed = parseDatabaseUrl(url);
    if (!parsed.ok || parsed.value.kind !== "postgres") throw new TypeError("no PostgreSQL URL");
    return await openPostgresStorage({ location: parsed.value, schema, clock: Date.now });
  },
  sqlite: (path) => openSqliteStorage({ path, clock: Date.now }),
};

const tasks: Readonly<Record<string, (storage: Storage, word: string) => Promise<void>>> = {
  /** Takes every code there is. */
  async consume(storage) {
    for (let at = 0; at < 40; at++) {
      if (await storage.consume(["code", String(at)]) !== null) say(at);
    }
  },
  /** Adds to one counter by compare-and-set. */
  async increment(storage) {
    for (let done = 0; done < 25;) {
      const entry = await storage.get(["counter"]);
      const checks = [{ key: ["counter"], version: entry?.version ?? null }] as const;
      if (await storage.commit({ checks, puts: [{ key: ["counter"], value: Number(entry?.value ?? 0) + 1 }] })) {
        done += 1;
      }
    }
    say("done");
  },
  /** Commits once for each piece of its input, and says so. */
  async commit(storage) {
    for await (const _piece of Deno.stdin.readable) {
      await storage.commit({ puts: [{ key: ["other"], value: crypto.randomUUID() }] });
      say("committed");
    }
  },
  /** Writes pairs until it is killed, and says each number once it is committed. */
  async acknowledge(storage, round) {
    for (let at = 0;; at++) {
      const puts = ["left", "right"].map((side) => ({ key: [side, round, String(at)] as const, value: at }));
      await storage.commit({ puts });
      say(at);
    }
  },
  /** Watches a counter, and says each value that it is told of, up to the one that is asked for. */
  async watch(storage, last) {
    const done = Promise.withResolvers<void>();
    let said: unknown;
    let looking = Promise.resolve(); // one look after the other: of two at once the older could be told last
    const look = (): Promise<void> =>
      looking = looking.then(async () => {
        const value = (await storage.get(["user", "counter"]))?.value;
        if (value !== said) say(String(said = value));
        if (value === Number(last)) done.resolve();
      });
    const stop = storage.watch(["user", "counter"], () => void look());
    say("watching");
    await look();
    await done.promise;
    stop();
  },
  /** Writes one entry, and lives on until it is killed. */
  async last_word(storage) {
    await storage.commit({ puts: [{ key: ["mcp_session", "last"], value: "word" }] });
    await new Promise((resolve) => setTimeout(resolve, 600_000));
  },
  /** Writes large values until one is refused, then says whether the first can still be read. */
  async fill(storage) {
    for (let at = 0; at < 500; at++) {
      try {
        await storage.commit({ puts: [{ key: ["fill", String(at)], value: "x".repeat(100_000) }] });
        say(at);
      } catch (error) {
        say(`refused: ${(error as Error).message}`);
        say(
          `first: ${await storage.get(["fill", "0"]) !== null}, last: ${
            await storage.get(["fill", String(at)]) !== null
          }`,
        );
        return;
      }
    }
  },
};

if (import.meta.main) {
  const [driver = "", location = "", task = "", word = ""] = Deno.args;
  const storage = await openers[driver]?.(location);
  if (storage === undefined) throw new TypeError(`no driver ${driver}`);
  await tasks[task]?.(storage, word);
  await storage.close();
}
