/** The product's own token guard over a database of its own, and one token that it accepts. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { createOperatorToken } from "../../src/oauth/access_token.ts";
import { createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import { usualLifetimes } from "../authorization_server/harness.ts";
import type { McpEndpointOptions } from "../../src/http/mcp_endpoint.ts";
import { systemClock } from "../../src/lib/time.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import { createChallenges, createGuard, createSpellings } from "../../src/http/guard.ts";
import { scopeCatalogue } from "../../src/lib/principal.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";

/** A guard with a token. */
export interface Guarded extends AsyncDisposable {
  readonly authenticate: McpEndpointOptions["authenticate"];
  readonly challenge: McpEndpointOptions["challenge"];
  readonly token: string;
}

const log = { write: () => {}, flush: () => {} };

/** Opens a database and makes the guard and a token of an hour. */
export async function openGuard(serverUrl: string): Promise<Guarded> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-conformance-" });
  const storage = openSqliteStorage({ path: join(directory, "portcullis.db"), clock: systemClock });
  const secrets = createSecretBox(randomBytes(32));
  const resource = `${serverUrl}/mcp`;
  const { verifier } = createAuthorizationServer({
    issuer: serverUrl,
    resource,
    resourceAliases: [],
    storage,
    secrets,
    clock: systemClock,
    log,
    registration: { mode: "open" },
    lifetimes: usualLifetimes,
  });
  const scopes = scopeCatalogue.map(({ name }) => name);
  const challenges = createChallenges({ spellingOf: createSpellings([resource]).spellingOf, scopes });
  const guard = createGuard({ verifier, challenges, clock: systemClock });
  const created = await createOperatorToken(
    { storage, clock: systemClock },
    { scope: scopes.join(" "), lifetimeSeconds: 3_600, name: "conformance" },
  );
  if (!created.ok) throw new Error(`no token could be made: ${JSON.stringify(created.error)}`);
  return {
    authenticate: guard.authenticate,
    challenge: challenges,
    token: created.value.token,
    async [Symbol.asyncDispose]() {
      await storage.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}
