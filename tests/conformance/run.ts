/**
 * `deno task conformance`: the official suites, old and new, against our protocol layer, once more through the product's
 * token guard, and the authorization command against the started product. Ends with status 1 on any failure or warning.
 */
import process from "node:process";
import { runAuthorizationSuite } from "./authorization.ts";
import { openGuard } from "./guarded.ts";
import { startHeaderProxy } from "./header_proxy.ts";
import { startConformanceServer } from "./server.ts";
import { runSuite, type SuiteOutcome } from "./suite.ts";

const oldSuite = "0.1.16";
const newSuite = "0.2.0-alpha.12";
let complaints = 0;

function report(name: string, { scenarios, failed, checks, complaints: found }: SuiteOutcome): void {
  process.stdout.write(`${name}: ${scenarios - failed.length}/${scenarios} scenarios, ${checks} checks passed\n`);
  for (const complaint of found) process.stdout.write(`  ${complaint}\n`);
  complaints += found.length;
}

const plain = startConformanceServer();
const ofServer = ["server", "--url", plain.url];
report(`${oldSuite} all`, await runSuite(oldSuite, [...ofServer, "--suite", "all"]));
report(`${newSuite} all`, await runSuite(newSuite, [...ofServer, "--suite", "all"]));
for (const revision of ["2025-11-25", "2026-07-28"]) {
  report(`${newSuite} requirements ${revision}`, await runSuite(newSuite, [...ofServer, "--requirements", revision]));
}
await plain.close();

{
  await using guard = await openGuard("http://127.0.0.1");
  const guarded = startConformanceServer({ guard });
  const proxy = startHeaderProxy(guarded.fetch, { authorization: `Bearer ${guard.token}` });
  const throughGuard = ["server", "--url", proxy.url, "--suite", "all"];
  report(`${oldSuite} all, through the token guard`, await runSuite(oldSuite, throughGuard));
  report(`${newSuite} all, through the token guard`, await runSuite(newSuite, throughGuard));
  await guarded.close();
  await proxy.close();
}

report(`${newSuite} authorization`, await runAuthorizationSuite(newSuite));
process.exit(complaints === 0 ? 0 : 1);
