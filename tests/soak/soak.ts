/**
 * `deno task soak [--minutes 30] [--seed N] [--storage sqlite|postgres]`: the real server under mixed load, killed at
 * random moments about every 20 seconds for two thirds of the time, then left alone under the same load for the rest.
 * Ends with status 1 and what it found, if an acknowledged act was lost, torn or undone.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { findPostgres, startPostgresCluster } from "../storage/postgres_cluster.ts";
import type { RawEntry } from "./audit_storage.ts";
import { runSoak, type SoakOptions } from "./run_soak.ts";
import { requireFlat } from "./require_flat.ts";

const secondsBetweenKills = 20;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1e9)) },
    storage: { type: "string", default: "sqlite" },
  },
});
const seconds = Number(values.minutes) * 60;
const say = (line: string): void => void process.stdout.write(`${new Date().toISOString()} ${line}\n`);
const options: SoakOptions = {
  seed: Number(values.seed),
  kills: Math.max(1, Math.round(seconds * 2 / 3 / secondsBetweenKills)),
  secondsBetweenKills,
  steadySeconds: seconds / 3,
  thinkMilliseconds: 80,
  refreshGraceSeconds: 30,
  say,
};
say(`seed ${values.seed}, ${values.minutes} minutes, ${options.kills} kills, ${values.storage}`);
try {
  const { kills, counts, quiet } = values.storage === "postgres" ? await onPostgres() : await runSoak(options);
  for (const [what, number] of [...counts].sort()) process.stdout.write(`${String(number).padStart(9)}  ${what}\n`);
  requireFlat(quiet);
  say(`sound after ${kills} kills`);
} catch (error) {
  process.stderr.write(`seed ${values.seed}: ${error instanceof Error ? error.stack : error}\n`);
  process.exit(1);
}

async function onPostgres(): ReturnType<typeof runSoak> {
  const found = findPostgres();
  if ("missing" in found) throw new Error(found.missing);
  await using cluster = await startPostgresCluster(found.programs);
  const readEntries = async (): Promise<RawEntry[]> => {
    const rows = await cluster.administer(
      "SELECT coalesce(json_agg(json_build_object('key', key, 'value', value, 'expires_at', expires_at)), '[]') FROM portcullis.entry",
    );
    return JSON.parse(rows);
  };
  return await runSoak({ ...options, database: { url: cluster.url, readEntries } });
}
