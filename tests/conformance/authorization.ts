/** The suite's `authorization` command against the product as it is started, with a person who signs in and approves. */
import { freePort } from "../fixtures/free_port.ts";
import { approve, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import { runSuite, type SuiteOutcome } from "./suite.ts";

/** Runs the command to its end. */
export async function runAuthorizationSuite(version: string): Promise<SuiteOutcome> {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  const person = createPerson(server.url);
  await setUpOwner(person, server);
  const port = freePort();
  const registered = await fetch(`${server.url}/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "conformance",
      redirect_uris: [`http://127.0.0.1:${port}/callback`],
      token_endpoint_auth_method: "none",
    }),
  });
  const { client_id: clientId } = await registered.json();
  let printed = "";
  let approved: Promise<void> | undefined;
  const approveOnce = (text: string): void => {
    printed += text;
    const link = /^(http\S+response_type=code\S*)$/m.exec(printed)?.[1];
    if (link === undefined || approved !== undefined) return;
    approved = approve(person, new URL(link)).then(async (callback) => {
      await (await fetch(callback)).body?.cancel();
    });
  };
  const args = ["authorization", "--url", server.url, "--client-id", clientId, "--port", String(port)];
  const outcome = await runSuite(version, [...args, "--resource", `${server.url}/mcp`], approveOnce);
  await approved;
  return outcome;
}
