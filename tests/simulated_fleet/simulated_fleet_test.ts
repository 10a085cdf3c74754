/**
 * Several instances of the real server on one simulated database, in virtual time. A seed decides everything: which
 * commits are delayed, refused, or done and reported as lost, who is killed or paused, which clocks jump. `FLEET_SEED=N`
 * replays one; `deno task soak fleet` runs thousands.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { forgetting, neverCalling, neverChanging, savingTasksBlindly, writingBlindly } from "./broken_storages.ts";
import type { FaultKind } from "./chaos.ts";
import { watchWebCrypto } from "./native_work.ts";
import { prepareState } from "./prepared_state.ts";
import { preparedClients, runSeed, type SeedOptions } from "./run_seed.ts";

/** How long the gate spends on seeds that no run had before. */
const spendMs = 12_000;

const sanitizers = { sanitizeOps: false, sanitizeResources: false }; // deadlines of bodies share timers
const prepared = await prepareState(preparedClients);

async function simulate(seed: number, options: SeedOptions = {}) {
  const restore = watchWebCrypto();
  try {
    return await runSeed(seed, prepared, options);
  } finally {
    restore();
  }
}

Deno.test({
  name: "a simulated fleet keeps what it acknowledged, whatever goes wrong",
  ...sanitizers,
  async fn() {
    const only = process.env["FLEET_SEED"];
    const first = Number(only ?? Math.floor(Math.random() * 1e9));
    const end = performance.now() + (only === undefined ? spendMs : 0);
    let seed = first;
    do {
      const { violations, faults } = await simulate(seed);
      assert.deepEqual(violations, [], `FLEET_SEED=${seed} (${faults.join(", ") || "no faults"})`);
      seed += 1;
    } while (performance.now() < end);
    process.stdout.write(`seeds ${first} to ${seed - 1}\n`);
  },
});

Deno.test({
  name: "a seed gives the same events each time",
  ...sanitizers,
  async fn() {
    for (const seed of [3, 4, 5]) {
      const [one, other] = [await simulate(seed), await simulate(seed)];
      assert.deepEqual([other.trace, other.events], [one.trace, one.events]);
    }
  },
});

/** What the checks must notice, and within how many seeds they do. */
const broken: readonly {
  readonly name: string;
  readonly breakStorage: NonNullable<SeedOptions["breakStorage"]>;
  readonly faults: readonly FaultKind[];
  readonly notices: RegExp;
}[] = [
  {
    name: "an instance that stores its tasks blindly, over an end that another one stored",
    breakStorage: savingTasksBlindly,
    faults: ["pause", "slow"],
    notices: /a task that was failed became/,
  },
  {
    name: "two grants for one code",
    breakStorage: writingBlindly("authorization_code"),
    faults: [],
    notices: /one code gave 2 grants/,
  },
  {
    name: "a grant that comes back after it was ended",
    breakStorage: writingBlindly("grant"),
    faults: ["slow"],
    notices: /a grant that was ended is there again|two successors/,
  },
  {
    name: "grants that were acknowledged and not stored",
    breakStorage: forgetting("grant"),
    faults: [],
    notices: /an acknowledged token was refused|a refresh token was refused/,
  },
  {
    name: "tasks that were acknowledged and not stored",
    breakStorage: forgetting("mcp_task"),
    faults: [],
    notices: /an acknowledged task is lost/,
  },
  {
    name: "sessions whose end was acknowledged and not stored",
    breakStorage: forgetting("mcp_session"),
    faults: [],
    notices: /a session that ended works/,
  },
  {
    name: "limits that each instance counts for itself",
    breakStorage: forgetting("rate_limit"),
    faults: [],
    notices: /calls were admitted, at most/,
  },
  {
    name: "an instance that is never told of a change",
    breakStorage: neverCalling,
    faults: [],
    notices: /is not cancelled through|outlives its|cannot be taken up/,
  },
  {
    name: "an instance that never looks whether anything changed",
    breakStorage: neverChanging,
    faults: [],
    notices: /a revoked access token works|a session that ended works/,
  },
];

for (const { name, breakStorage, faults, notices } of broken) {
  Deno.test({
    name: `the checks of the simulated fleet notice ${name}`,
    ...sanitizers,
    async fn() {
      const seen: string[] = [];
      for (let seed = 1; seed <= 60 && !seen.some((problem) => notices.test(problem)); seed++) {
        seen.push(...(await simulate(seed, { breakStorage, faults })).violations);
      }
      assert.ok(seen.some((problem) => notices.test(problem)), seen.join("\n"));
    },
  });
}
