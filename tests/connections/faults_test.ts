/** Faults of connection, injected one by one into a real server: the command and the page name the right cause. */
import assert from "node:assert/strict";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { judgedAttempts } from "./reports.ts";
import { createConnectingClient } from "./connecting_client.ts";
import {
  arrivalFaults,
  browserFaults,
  callFaults,
  type Fault,
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
];

Deno.test("connections: the command and the page name the cause of each fault", async (test) => {
  await using place = await makeServerPlace();
  const env = { TRUST_PROXY: "127.0.0.1", REGISTRATION: "open", PUBLIC_INITIALIZE: "never" };
  await using server = await startServer(place, { env, bounds });
  const owner = createPerson(server.url);
  await setUpOwner(owner, server);
  for (const [index, { name, agent, isInCloud, run }] of faults.entries()) {
    const client = createConnectingClient(server.url, {
      name,
      ...(agent === undefined ? {} : { agent }),
      address: `203.0.113.${index + 1}`,
      ...(isInCloud ? { browserAddress: `198.51.100.${index + 1}` } : {}),
    });
    await run(client);
  }
  const lines = await judgedAttempts(place, { ...env, PORT: new URL(server.url).port });
  const page = await openSignedIn(owner, `${server.url}/console/why`);
  const articles = page.html.split("<article").slice(1);
  for (const { name, cause, isNoFault, agent = name } of faults) {
    await test.step(`connections: ${name}`, () => {
      const own = lines.filter((line) =>
        line.name === name || line.steps.some((step) => step.agent?.startsWith(agent))
      );
      assert.equal(own.length, 1, `one attempt of ${name}: ${JSON.stringify(own, null, 1)}`);
      const [line] = own;
      assert.equal(line?.causes[0]?.id, cause, JSON.stringify(line));
      assert.equal(line?.state, isNoFault ? "no_fault" : "fault");
      const article = articles.find((each) => each.includes(`<h2>${line?.name}</h2>`));
      assert.ok(article?.includes(line?.causes[0]?.words.replaceAll("'", "&#39;") ?? "?"), `${name}: ${article}`);
    });
  }
});
