/**
 * `deno task soak fleet [--seeds 1000] [--from N] [--minutes M]`: seed after seed of the simulated fleet. `FLEET_SEED=N`
 * replays one, and says what happened in it. Ends with status 1 at the first seed that fails.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { watchWebCrypto } from "./native_work.ts";
import { prepareState } from "./prepared_state.ts";
import { preparedClients, runSeed } from "./run_seed.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: String(Math.floor(Math.random() * 1e9)) },
    minutes: { type: "string", default: "600" },
    keepGoing: { type: "boolean", default: false },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const only = process.env["FLEET_SEED"];
const first = Number(only ?? values.from);
const last = only === undefined ? first + Number(values.seeds) : first + 1;
const end = performance.now() + Number(values.minutes) * 60_000;
const prepared = await prepareState(preparedClients);
watchWebCrypto();
let [seeds, events, virtualSeconds, failed] = [0, 0, 0, 0];
const counts = new Map<string, number>();
for (let seed = first; seed < last && performance.now() < end; seed++) {
  const outcome = await runSeed(seed, prepared);
  seeds += 1;
  events += outcome.events;
  virtualSeconds += outcome.virtualSeconds;
  for (const [what, number] of outcome.counts) counts.set(what, (counts.get(what) ?? 0) + number);
  if (outcome.violations.length > 0) {
    failed += 1;
    say(`FLEET_SEED=${seed} (${outcome.faults.join(", ")})\n  ${outcome.violations.join("\n  ")}`);
    if (!values.keepGoing) break;
  }
  if (only !== undefined) say(`seed ${seed}: ${outcome.faults.join(", ")}; trace ${outcome.trace}`);
}
if (failed > 0) process.exitCode = 1;
for (const [what, number] of [...counts].sort()) say(`${String(number).padStart(9)}  ${what}`);
say(
  `${seeds} seeds from ${first}, ${events} events, ${
    Math.round(virtualSeconds / 3_600)
  } virtual hours, ${failed} failed`,
);
