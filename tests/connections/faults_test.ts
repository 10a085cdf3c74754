/** Faults of connection, injected one by one into a real server: the command and the page name the right cause. */
import assert from "node:assert/strict";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { judgedAttempts } from "./reports.ts";
import { createConnectingClient } from "./connecting_client.ts";
import { culprits } from "./culprits.ts";
import {
  arrivalFaults,
  browserFaults,
  callFaults,
  clientFaults,
  type Fault,
  foreignTokenFaults,
  registrationFaults,
  strayedFaults,
  tokenFaults,
} from "./faults.ts";

const bounds = { lifetimes: { refreshGraceSeconds: 0 } };

const faults: readonly Fault[] = [
  ...arrivalFaults,
  ...strayedFaults,
  ...registrationFaults,
  ...browserFaults,
  ...tokenFaults,
  ...callFaults,
  ...foreignTokenFaults,
  ...clientFaults,
];
const open = { REGISTRATION: "open", COMPATIBILITY: "spec", OAUTH_RATE_LIMIT: "10000" };
/** Without a proxy, none of these is to blame, nor a setting for them. */
const ofProxies = /prox|firewall|CDN|TRUST_PROXY/;

const ways = [
  { way: "behind a proxy", isDirect: false, env: { ...open, TRUST_PROXY: "127.0.0.1" } },
  { way: "on loopback without a proxy", isDirect: true, env: open },
];
for (const { way, isDirect, env } of ways) {
  Deno.test({
    ...skippedUnless(
      !isDirect || Deno.build.os === "linux",
      "only Linux has all of 127.0.0.0/8",
      `connections: the command and the page name the cause of each fault, ${way}`,
    ),
    fn: (test) => nameEach(test, isDirect, env),
  });
}

async function nameEach(test: Deno.TestContext, isDirect: boolean, env: Readonly<Record<string, string>>) {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env, bounds });
  const owner = createPerson(server.url);
  await setUpOwner(owner, server);
  for (const [index, { name, agent, isInCloud, run }] of faults.entries()) {
    using local = Deno.createHttpClient(isDirect ? { localAddress: `127.0.1.${index + 1}` } : {});
    const client = createConnectingClient(server.url, {
      name,
      ...(agent === undefined ? {} : { agent }),
      address: `203.0.113.${index + 1}`,
      ...(isInCloud ? { browserAddress: `198.51.100.${index + 1}` } : {}),
      ...(isDirect ? { local } : {}),
    });
    try {
      await run(client);
    } catch (error) {
      throw new Error(`the fault ${name} went another way`, { cause: error });
    }
  }
  const lines = await judgedAttempts(place);
  const page = await openSignedIn(owner, `${server.url}/console/why`);
  const articles = page.html.split("<article").slice(1);
  for (const { name, cause, isNoFault, agent = name, direct, step, isOfProxy } of faults) {
    const expected = isDirect ? direct ?? { cause, isNoFault } : { cause, isNoFault };
    await test.step(`connections: ${name}`, () => {
      const own = lines.filter((line) =>
        line.name === name || line.steps.some((step) => step.agent?.startsWith(agent))
      );
      assert.equal(own.length, 1, `one attempt of ${name}: ${JSON.stringify(own, null, 1)}`);
      const [line] = own;
      const [first] = line?.causes ?? [];
      assert.equal(first?.id, expected.cause, JSON.stringify(line));
      assert.equal(line?.state, expected.isNoFault ? "no_fault" : "fault");
      const [culprit, remedy] = culprits[expected.cause] ?? assert.fail(`who is to blame for ${expected.cause}?`);
      assert.match(first?.words ?? "", culprit);
      assert.match(first?.remedy ?? "", remedy);
      if (isDirect && !isOfProxy) {
        for (const { words, remedy } of line?.causes ?? []) {
          assert.doesNotMatch(`${words} ${remedy}`.replaceAll("/proxy", ""), ofProxies); // a path that a client asked for
        }
      }
      const article = articles.find((each) => each.includes(`<h2>${line?.name}</h2>`)) ?? assert.fail(line?.name);
      assert.ok(article.includes(first?.words.replaceAll("'", "&#39;") ?? "?"), `${name}: ${article}`);
      assert.match(article, step ?? /./);
      assert.doesNotMatch(article, /status_\d|\b[a-z]+_token\b|characters, [\w-]{8}\)/, "steps and names are words");
    });
  }
}
