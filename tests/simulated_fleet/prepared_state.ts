/** The state that each seed begins with: an owner who is signed in, and clients with grants. Made once, by real requests. */
import assert from "node:assert/strict";
import { approve, setUpOwner } from "../fixtures/owner.ts";
import { createPerson, type Person } from "../fixtures/person.ts";
import { SimulatedDatabase, type Snapshot } from "./simulated_database.ts";
import { openCalmStorage } from "./simulated_storage.ts";
import { serverUrl, startInstance } from "./instance.ts";
import { wallStart } from "./virtual_time.ts";
import { authorizationUrl, redeem, redirectUri } from "./sign_in.ts";

/** A client that the owner approved before the simulation began. */
export interface PreparedClient {
  readonly clientId: string;
  readonly accessToken: string;
}

/** What the seeds share. */
export interface PreparedState {
  readonly snapshot: Snapshot;
  readonly clients: readonly PreparedClient[];
  /** The owner's browser, signed in; each actor takes a copy. */
  readonly cookies: ReadonlyMap<string, string>;
}

/** Makes it. */
export async function prepareState(clientCount: number): Promise<PreparedState> {
  const database = new SimulatedDatabase();
  const clock = (): number => wallStart - 5_000;
  const stopped = { elapsed: () => 0, after: () => () => {}, every: () => () => {} };
  const app = await startInstance({ storage: openCalmStorage(database, clock), timers: stopped, clock, onLine() {} });
  const ask = async (url: URL, init: RequestInit): Promise<Response> =>
    await app.fetch(new Request(url, init), { address: "203.0.113.1" });
  const cookies = new Map<string, string>();
  const person: Person = createPerson(serverUrl, ask, cookies);
  const link = await app.issueSetUpLink();
  assert.ok(link !== null);
  await setUpOwner(person, { setUpLink: link, stderr: () => "" });
  const clients: PreparedClient[] = [];
  for (let count = 0; count < clientCount; count++) {
    const registered = await ask(new URL(`${serverUrl}/oauth/register`), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        client_name: `Client ${count}`,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: "none",
      }),
    });
    const { client_id: clientId } = await registered.json();
    const back = await approve(person, authorizationUrl(clientId));
    const code = back.searchParams.get("code") ?? assert.fail(`no code in ${back}`);
    const tokens = await redeem(ask, clientId, code);
    clients.push({ clientId, accessToken: tokens.access_token });
  }
  await app.close();
  return { snapshot: database.snapshot(), clients, cookies };
}
