/** Faults written down before the recorder's words about them were known: their cause is named, and no innocent one. */
import assert from "node:assert/strict";
import { setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { createConnectingClient } from "./connecting_client.ts";
import { heldOutFaults } from "./held_out_faults.ts";
import { judgedAttempts } from "./reports.ts";

const open = { REGISTRATION: "open", COMPATIBILITY: "spec", OAUTH_RATE_LIMIT: "10000" };
/** None of the faults is a proxy's: where the steps do not tell, it may be named as one of several. */
const innocent = /prox|firewall|CDN|SERVER_URL/;
const oneOfSeveral = /,? or (a |the )?(firewall or proxy|proxy or firewall|proxy)[^.,]*/gi;
const between = /, or a proxy,/g;

const ways = [
  { way: "behind a proxy", isDirect: false, env: { ...open, TRUST_PROXY: "127.0.0.1" } },
  { way: "on loopback without a proxy", isDirect: true, env: open },
];
for (const { way, isDirect, env } of ways) {
  Deno.test({
    ...skippedUnless(
      !isDirect || Deno.build.os === "linux",
      "only Linux has all of 127.0.0.0/8",
      `connections: faults that were held out are explained, ${way}`,
    ),
    fn: (test) => explainEach(test, isDirect, env),
  });
}

async function explainEach(test: Deno.TestContext, isDirect: boolean, env: Readonly<Record<string, string>>) {
  await using place = await makeServerPlace();
  await using server = await startServer(place, { env });
  await setUpOwner(createPerson(server.url), server);
  for (const [index, { name, run }] of heldOutFaults.entries()) {
    using local = Deno.createHttpClient(isDirect ? { localAddress: `127.0.2.${index + 1}` } : {});
    const client = createConnectingClient(server.url, {
      name,
      address: `203.0.113.${index + 1}`,
      ...(isDirect ? { local } : {}),
    });
    if (!isDirect) client.headers.set("x-forwarded-proto", "http");
    try {
      await run(client);
    } catch (error) {
      throw new Error(`the fault ${name} went another way`, { cause: error });
    }
  }
  const lines = await judgedAttempts(place);
  for (const { name, says, isNoFault } of heldOutFaults) {
    await test.step(`connections: ${name}`, () => {
      const own = lines.filter((line) => line.name === name || line.steps.some((step) => step.agent?.startsWith(name)));
      const [line] = own; // the newest: some register twice
      const [first] = line?.causes ?? [];
      assert.match(`${first?.words} ${first?.remedy}`, says, JSON.stringify(line));
      assert.equal(line?.state, isNoFault ? "no_fault" : "fault", JSON.stringify(line));
      for (const { words } of line?.causes ?? []) {
        assert.doesNotMatch(words.replaceAll(between, "").replaceAll(oneOfSeveral, ""), innocent, JSON.stringify(line));
      }
    });
  }
}
