/** The operator's commands on clients: create, list, approve, remove. They work while the server runs. */
import {
  assertionGrantType,
  type Client,
  clients,
  conflict,
  deleteGrants,
  grants,
  heldClients,
  isHeldClient,
  retryOnConflict,
  unchanged,
  unusedClientId,
  waitingListOf,
} from "./records.ts";
import type { AdministrationOptions } from "./context.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { Storage } from "../storage/mod.ts";
import { newClient } from "./client_directory.ts";
import { parsePublicJwks } from "./signing_keys.ts";
import { isAllowableRedirectUri } from "./redirect_uri.ts";
import { knownScopes, parseScope, scopeProblem } from "./scope.ts";

/** The arguments of `clients create`. */
export interface ClientRequest {
  readonly name: string;
  /** `client_credentials` is for machines; `authorization_code` (with refresh) for programs that users sign in from. */
  readonly grantTypes: readonly ("authorization_code" | "client_credentials")[];
  /** Whether it may bring identity assertions of the company's provider. */
  readonly assertions?: boolean;
  /** Names separated by spaces or commas: the limit for client credentials, the default otherwise. */
  readonly scope: string;
  readonly redirectUris?: readonly string[];
  /** `client_secret_any` lets the client choose between basic and post. */
  readonly authentication?: Client["authentication"];
  /** Public keys as a JWK set in JSON, for `private_key_jwt`. */
  readonly jwks?: string;
  /** The secret never ends without it. */
  readonly secretLifetimeSeconds?: number;
}

/** A refused request: the field and the remedy, for the terminal. */
interface ClientProblem {
  readonly field: "id" | "name" | "grant" | "scope" | "redirect-uri" | "auth-method" | "jwks" | "secret-ttl";
  readonly message: string;
}

/** A client as lists show one. */
type ClientSummary = Omit<Client, "secretHash">;

const maxSecretLifetimeSeconds = 10 * 31_536_000;

/** Makes a client. Its secret, if it has one, is shown this once; only the hash is kept. */
export async function createClient(
  { storage, clock }: AdministrationOptions,
  request: ClientRequest,
): Promise<Result<{ readonly client: ClientSummary; readonly secret: string | null }, ClientProblem>> {
  const problem = findProblem(request);
  if (problem !== null) return failure(problem);
  const { authentication = "client_secret_any", secretLifetimeSeconds, redirectUris = [] } = request;
  const now = clock();
  const { client, secret } = newClient({
    name: request.name,
    scope: request.scope,
    origin: "operator",
    redirectUris: [...redirectUris],
    grantTypes: [
      ...request.grantTypes.flatMap((name) =>
        name === "authorization_code" ? ["authorization_code", "refresh_token"] as const : [name]
      ),
      ...(request.assertions ? [assertionGrantType] as const : []),
    ],
    authentication,
    secretExpiresAt: secretLifetimeSeconds === undefined ? 0 : now + secretLifetimeSeconds * 1_000,
    jwks: request.jwks === undefined ? null : parsePublicJwks(request.jwks),
    jwksUri: null,
    registeredAt: now,
    usedAt: now,
  });
  await storage.commit({ puts: [clients.put(client.id, client)] });
  return success({ client: summarise(client), secret });
}

function findProblem(request: ClientRequest): ClientProblem | null {
  const { name, grantTypes, assertions = false, scope, redirectUris = [], authentication, jwks } = request;
  if (name.trim() === "") return { field: "name", message: "is missing: give the client a name that people recognise" };
  if (grantTypes.length === 0 && !assertions) {
    return { field: "grant", message: "must be authorization_code or client_credentials" };
  }
  const unfit = scopeProblem(scope);
  if (unfit !== null) return { field: "scope", message: unfit };
  const needsRedirect = grantTypes.includes("authorization_code");
  if (needsRedirect !== redirectUris.length > 0 || !redirectUris.every(isAllowableRedirectUri)) {
    const message = needsRedirect
      ? "must have one or more redirect URIs: https, http on 127.0.0.1, [::1] or localhost, or an application's own scheme such as com.example.app:/callback"
      : "is for authorization_code, the only grant with a redirect";
    return { field: "redirect-uri", message };
  }
  // RFC 6749 §4.4, draft-ietf-oauth-identity-assertion-authz-grant §8.1: for confidential clients only.
  const needsProof = grantTypes.includes("client_credentials") ? "client_credentials is" : "assertions are";
  if (authentication === "none" && (assertions || grantTypes.includes("client_credentials"))) {
    return { field: "auth-method", message: `must not be none: ${needsProof} for clients that authenticate` };
  }
  if ((authentication === "private_key_jwt") !== (jwks !== undefined)) {
    return {
      field: "jwks",
      message: "must name a JWK set with --auth-method private_key_jwt, and with no other method",
    };
  }
  if (jwks !== undefined && parsePublicJwks(jwks) === null) {
    return { field: "jwks", message: "must be a JWK set of public RSA, EC or Ed25519 keys, without private members" };
  }
  const lifetime = request.secretLifetimeSeconds ?? 1;
  return Number.isInteger(lifetime) && lifetime >= 1 && lifetime <= maxSecretLifetimeSeconds ? null : {
    field: "secret-ttl",
    message: `must be a number of seconds from 1 to ${maxSecretLifetimeSeconds}, or a time such as 12h or 30d`,
  };
}

/** The clients that asked for access in their own name and wait for their scopes, oldest first. */
export async function listHeldClients({ storage }: Pick<AdministrationOptions, "storage">): Promise<ClientSummary[]> {
  const waiting = await Array.fromAsync(heldClients.all(storage));
  const stored = await Promise.all(waiting.map(({ value }) => clients.read(storage, value.clientId)));
  return stored.flatMap((client) => client !== null && isHeldClient(client.value) ? [summarise(client.value)] : []);
}

/**
 * Gives a held client these scopes in its own name, whatever it asked for, and keeps it from then on. `assertions`: lets
 * a client that authenticates, and is held for nothing, bring identity assertions for these scopes.
 */
export async function approveClient(
  { storage, clock }: AdministrationOptions,
  { id, scope, assertions = false }: {
    readonly id: string;
    readonly scope: string;
    readonly assertions?: boolean | undefined;
  },
): Promise<Result<ClientSummary, ClientProblem>> {
  const unfit = scopeProblem(scope);
  if (unfit !== null) return failure({ field: "scope", message: unfit });
  return await retryOnConflict(async () => {
    const stored = await clients.read(storage, id);
    if (stored === null || (assertions ? !mayAssert(stored.value) : !isHeldClient(stored.value))) {
      const message = assertions
        ? "no client that authenticates by a secret or a key has this id"
        : "no client with this id waits for approval";
      return failure({ field: "id", message });
    }
    const { grantTypes, usedAt, scopes } = stored.value;
    const isLimited = assertions && grantTypes.includes("client_credentials"); // in its own name it gets no more
    const approved: Client = {
      ...stored.value,
      scopes: isLimited ? scopes : knownScopes(parseScope(scope)),
      usedAt: usedAt ?? clock(),
      grantTypes: [...new Set([...grantTypes, ...assertions ? [assertionGrantType] : []])],
    };
    const committed = await storage.commit({
      checks: [unchanged(stored)],
      puts: [clients.put(id, approved)],
      deletes: [waitingListOf(stored.value).key(...unusedClientId(approved))],
    });
    return committed ? success(summarise(approved)) : conflict;
  });
}

/** Draft §8.1: for confidential clients only. What a metadata document describes is in its publisher's hands. */
function mayAssert(client: Client): boolean {
  return client.authentication !== "none" && client.origin !== "metadata_document" && !isHeldClient(client);
}

/** All clients, registered ones included, oldest first. */
export async function listClients({ storage }: AdministrationOptions): Promise<ClientSummary[]> {
  const stored = await Array.fromAsync(clients.all(storage));
  return stored.map(({ value }) => summarise(value)).sort((a, b) => a.registeredAt - b.registeredAt);
}

function summarise({ secretHash: _, ...summary }: Client): ClientSummary {
  return summary;
}

/** Removes a client of any origin with everything it was granted; `false` when there is none. */
export async function removeClient({ storage }: AdministrationOptions, id: string): Promise<boolean> {
  const client = await clients.read(storage, id);
  if (client === null) return false;
  // The client goes between two rounds: what it obtains during the first one is caught by the second.
  await deleteGrantsOf(storage, id);
  await storage.commit({ deletes: [client.key, waitingListOf(client.value).key(...unusedClientId(client.value))] });
  await deleteGrantsOf(storage, id);
  return true;
}

async function deleteGrantsOf(storage: Storage, clientId: string): Promise<void> {
  const granted = await Array.fromAsync(grants.all(storage));
  await deleteGrants(storage, granted.map(({ value }) => value).filter((grant) => grant.clientId === clientId));
}
