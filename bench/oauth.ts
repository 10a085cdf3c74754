/**
 * `deno task bench oauth`: what the token endpoint costs for each grant, and the guard for each request, as ratios to an
 * endpoint that parses as many bytes and answers JSON. Everything runs in this process, on a SQLite file, without a
 * socket; the CPU time is this process's own. Waiting for the disk counts as time, not as CPU time.
 */
import process from "node:process";
import { createChallenges, createGuard, createSpellings } from "../src/http/guard.ts";
import { createClient } from "../src/oauth/manage_clients.ts";
import { hashSecret, randomId, randomSecret } from "../src/lib/secrets.ts";
import { authorizationCodes } from "../src/oauth/records.ts";
import { createUserDirectory } from "../src/oauth/manage_users.ts";
import {
  basic,
  challenge,
  connect,
  type Harness,
  ownerPasswordHash,
  redirectUri,
  resource,
  startHarness,
  verifier,
} from "../tests/authorization_server/harness.ts";

const runs = Number(process.env["BENCH_RUNS"] ?? "1000");

interface Cost {
  readonly cpuMicroseconds: number;
  readonly microseconds: number;
}

async function measure(count: number, operation: (index: number) => Promise<unknown> | unknown): Promise<Cost> {
  for (let index = 0; index < Math.ceil(count / 10); index++) await operation(index); // warms up
  const cpu = process.cpuUsage();
  const start = performance.now();
  for (let index = 0; index < count; index++) await operation(Math.ceil(count / 10) + index);
  const elapsed = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { cpuMicroseconds: (user + system) / count, microseconds: elapsed * 1_000 / count };
}

await using harness = await startHarness();
const { client, tokens } = await connect(harness);
const form = (fields: Record<string, string>): RequestInit => ({ method: "POST", body: new URLSearchParams(fields) });

async function expectTokens(response: Promise<Response>): Promise<Record<string, string>> {
  const answer = await response;
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
  return await answer.json();
}

/** Codes as the consent page would store them. */
async function makeCodes({ storage, time, deps }: Harness, count: number): Promise<string[]> {
  const account = await createUserDirectory(storage, { clock: Date.now, ownerPasswordHash }).find("owner");
  const codes = Array.from({ length: count }, () => `pca_${randomSecret()}`);
  for (const code of codes) {
    const record = {
      grantId: randomId(),
      clientId: client.client_id,
      userId: "owner",
      credentialHash: account?.credentialHash ?? "",
      redirectUri,
      codeChallenge: challenge,
      scopes: ["files:read"],
      resource: deps.resource,
      createdAt: time.now,
      expiresAt: time.now + 60_000,
      redeemedAt: null,
    };
    await storage.commit({ puts: [authorizationCodes.put(hashSecret(code), record, record.expiresAt)] });
  }
  return codes;
}

const bare = await measure(runs * 10, async () => {
  const request = new Request(resource, { method: "POST", body: JSON.stringify({ token: "x".repeat(300) }) });
  const { token } = await request.json();
  return await Response.json({ access_token: token, token_type: "Bearer", expires_in: 3_600 }).json();
});

const machine = await createClient(harness.deps, {
  name: "Job",
  grantTypes: ["client_credentials"],
  scope: "files:read",
});
if (!machine.ok) throw new Error(machine.error.message);
const credentials = basic(machine.value.client.id, machine.value.secret ?? "");
const codes = await makeCodes(harness, runs + Math.ceil(runs / 10));
let current = tokens.refresh_token;

const results: Record<string, Cost> = {
  "bare JSON answer": bare,
  "token: authorization_code": await measure(runs, (index) =>
    expectTokens(harness.fetch(
      "/oauth/token",
      form({
        grant_type: "authorization_code",
        client_id: client.client_id,
        code: codes[index] ?? "",
        redirect_uri: redirectUri,
        code_verifier: verifier,
      }),
    ))),
  "token: refresh_token": await measure(runs, async () => {
    const fields = { grant_type: "refresh_token", client_id: client.client_id, refresh_token: current };
    current = (await expectTokens(harness.fetch("/oauth/token", form(fields))))["refresh_token"] ?? "";
  }),
  "token: client_credentials": await measure(runs, () =>
    expectTokens(
      harness.fetch("/oauth/token", { ...form({ grant_type: "client_credentials" }), headers: credentials }),
    )),
};

const { spellingOf } = createSpellings([resource]);
const challenges = createChallenges({ spellingOf, scopes: ["files:read"] });
const guardOptions = { verifier: harness.server.verifier, challenges, clock: harness.deps.clock };
const request = new Request(resource, { headers: { authorization: `Bearer ${tokens.access_token}` } });
const expectPrincipal = (kind: string): void => {
  if (kind !== "principal") throw new Error(`the guard answered ${kind}`);
};
results["guard: cold token"] = await measure(
  runs,
  async () => expectPrincipal((await createGuard(guardOptions).authenticate(request)).kind),
);
const guard = createGuard(guardOptions);
results["guard: cached token"] = await measure(runs * 100, () => {
  const outcome = guard.authenticate(request);
  return outcome instanceof Promise ? outcome.then(({ kind }) => expectPrincipal(kind)) : expectPrincipal(outcome.kind);
});

const row = (cells: readonly string[]): void =>
  void process.stdout.write(
    `${(cells[0] ?? "").padEnd(28)}${cells.slice(1).map((cell) => cell.padStart(16)).join("")}\n`,
  );
row(["", "CPU us", "us", "CPU ratio"]);
for (const [name, cost] of Object.entries(results)) {
  const ratio = cost.cpuMicroseconds / bare.cpuMicroseconds;
  row([name, cost.cpuMicroseconds.toFixed(1), cost.microseconds.toFixed(1), ratio.toFixed(2)]);
}
