/** The actor that registers applications with a secret, and finds each of them again. */
import assert from "node:assert/strict";
import { type Actor, persist, type Stage } from "./actor.ts";

interface Registered {
  readonly id: string;
  readonly secret: string;
}

/** Registers now and then, and asks for what was registered. */
export function createClientsActor(name: string, { server, random, count }: Stage): Actor {
  const clients: Registered[] = [];
  const register = async (): Promise<void> => {
    const response = await server.fetch(`${server.url}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        redirect_uris: ["https://soak.example/callback"],
        token_endpoint_auth_method: "client_secret_post",
      }),
    });
    assert.equal(response.status, 201);
    const { client_id: id, client_secret: secret } = await response.json();
    clients.push({ id, secret });
    count("client registered");
  };
  const find = async ({ id, secret }: Registered): Promise<void> => {
    // Revoking what is no token needs the client's secret and changes nothing (RFC 7009 §2.2).
    const ask = (givenSecret: string): Promise<number> =>
      persist(async () => {
        const body = new URLSearchParams({ client_id: id, client_secret: givenSecret, token: "none" });
        return (await server.fetch(`${server.url}/oauth/revoke`, { method: "POST", body })).status;
      });
    assert.equal(await ask(secret), 200, "a registered client is still there");
    assert.equal(await ask(`${secret.slice(0, -1)}${secret.endsWith("A") ? "B" : "A"}`), 401);
  };
  return {
    name,
    async step() {
      if (clients.length === 0 || random.chance(0.3)) return await register();
      await find(random.pick(clients));
      count("client found");
    },
    rest: () => Promise.resolve(),
    async audit() {
      for (const client of clients) await find(client);
    },
  };
}
