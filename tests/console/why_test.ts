/** "Why does it not connect?" in the console: who sees which attempts, and names that strangers chose. */
import assert from "node:assert/strict";
import { reportAttempts } from "../../src/console/connections/report.ts";
import { makeStep, type NewStep } from "../../src/console/connections/step.ts";
import type { ConsoleSources } from "../../src/console/pages/section.ts";
import { whySection } from "../../src/console/pages/connections.ts";
import { invitePerson, signInTo, startConsole } from "./harness.ts";

const hostile = `<img src=x onerror="alert(1)">`;
const now = 1_800_000_000_000;
const steps = ([
  { kind: "registration", outcome: "ok", address: "203.0.113.1", agent: "one", client: "pcc_owner" },
  { kind: "consent", outcome: "ok", address: "203.0.113.1", agent: "browser", client: "pcc_owner", person: "owner" },
  { kind: "registration", outcome: "ok", address: "203.0.113.2", agent: "two", client: "pcc_ada" },
  { kind: "consent", outcome: "ok", address: "203.0.113.2", agent: "browser", client: "pcc_ada", person: "ada" },
  { kind: "reached", outcome: "ok", address: "203.0.113.3", agent: hostile, host: hostile, path: hostile },
] as const satisfies readonly NewStep[]).map((step, index) => makeStep(now - 60_000 + index, step));

const section = whySection({
  issuer: "http://127.0.0.1:3000",
  attempts: (person: string | null, at: number) =>
    reportAttempts(steps, { now: at, person, nameOfClient: (id) => Promise.resolve(`${id} ${hostile}`) }),
} as unknown as ConsoleSources);

Deno.test("administrators see every attempt, others only those in which they signed in", async () => {
  await using harness = await startConsole([section]);
  const owner = await signInTo(harness);
  const secret = await invitePerson(harness, owner, "ada");
  const all = await (await owner.get("/console/why")).text();
  assert.ok(all.includes("pcc_owner") && all.includes("pcc_ada") && all.includes("203.0.113.3"));
  const ada = await signInTo(harness, { path: "/console/why", username: "ada", secret });
  const own = await (await ada.get("/console/why")).text();
  assert.ok(own.includes("pcc_ada") && !own.includes("pcc_owner") && !own.includes("203.0.113.3"), own);
  assert.ok(!own.includes("Don't see your client?"));
});

Deno.test("the checklist names the address for clients, and a certificate only where there is one", async () => {
  for (const resource of ["http://127.0.0.1:3000/mcp", "https://mcp.example.com/tools/mcp"]) {
    const listing = whySection({
      issuer: resource.replace(/\/mcp$/, ""),
      attempts: () => Promise.resolve([]),
    } as unknown as ConsoleSources);
    await using harness = await startConsole([listing]);
    const page = await (await (await signInTo(harness)).get("/console/why")).text();
    assert.ok(page.includes(`<code>${resource}</code>`), page);
    assert.equal(page.includes("The certificate"), resource.startsWith("https:"));
  }
});

Deno.test("names, hosts and paths that strangers chose are text on the page", async () => {
  await using harness = await startConsole([section]);
  const owner = await signInTo(harness);
  const page = await (await owner.get("/console/why")).text();
  assert.ok(page.includes("&lt;img src=x"));
  assert.ok(!page.includes("<img src=x"));
});
