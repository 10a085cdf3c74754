/** `/oauth/consent`: the person's decision, and the authorization code that follows from it. */
import { codeResponse, errorResponse } from "./authorization_response.ts";
import { readBrowserForm } from "./browser_form.ts";
import type { SignedIn } from "./browser_sessions.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import {
  findPending,
  type InteractionDeps,
  type Pending,
  showConsent,
  showSignIn,
  signedInByPage,
  signedInFor,
} from "./interaction.ts";
import { errorPage, methodNotAllowedPage } from "./pages/error_page.ts";
import { hashSecret, randomId, randomSecret } from "./random_secret.ts";
import { unchanged } from "./record_family.ts";
import { authorizationCodes } from "./records/authorization_code.ts";
import { clients, unusedClientId, unusedClients } from "./records/client.ts";

/** Builds the consent endpoint. */
export function createConsentEndpoint(deps: InteractionDeps): Endpoint {
  const { log, limits, browsers } = deps;
  return async (request, peer) => {
    const browser = browsers.identify(request);
    const gone = (): Response => {
      log.write("audit", "consent", { outcome: "refused", reason: "request_gone", address: peer.address });
      return errorPage("request_gone");
    };
    if (request.method === "GET") {
      const handle = new URL(request.url).searchParams.get("request") ?? "";
      const pending = await findPending(deps, handle, browser);
      if (pending === null) return gone();
      const signedIn = await signedInFor(deps, pending, request);
      return signedIn === null
        ? await showSignIn(deps, { kind: "request", waiting: pending })
        : showConsent(deps, pending, signedIn);
    }
    if (request.method !== "POST") return methodNotAllowedPage("GET", "POST");
    const form = await readBrowserForm(request, limits);
    if (!form.ok) return errorPage(form.error);
    const pending = await findPending(deps, form.value.get("request") ?? "", browser);
    if (pending === null) return gone();
    const signedIn = await signedInFor(deps, pending, request) ??
      (browsers.cookiesReachOtherPorts ? await signedInByPage(deps, pending, form.value) : null);
    if (signedIn === null) return await showSignIn(deps, { kind: "request", waiting: pending });
    // Somebody else signed in meanwhile, in another tab: let them see whose consent they give.
    if (form.value.get("account") !== signedIn.account.id) {
      return showConsent(deps, pending, signedIn, { problem: "The account changed. Look again before you decide." });
    }
    const response = await decide(deps, { pending, signedIn, peer }, form.value) ?? gone();
    if (browsers.cookiesReachOtherPorts && response.status === 303) {
      response.headers.append("set-cookie", await browsers.signOut(request));
    }
    return response;
  };
}

/** Carries the decision out; `null` when the same page was answered a moment ago. */
async function decide(
  deps: InteractionDeps,
  { pending, signedIn, peer }: { pending: Pending; signedIn: SignedIn; peer: Peer },
  form: URLSearchParams,
): Promise<Response | null> {
  const { storage, log, issuer } = deps;
  const { request } = pending;
  const fields = { user: signedIn.account.id, client: pending.client.id, address: peer.address };
  if (form.get("decision") !== "allow") {
    if (!await storage.commit({ checks: [unchanged(pending.stored)], deletes: [pending.stored.key] })) return null;
    log.write("audit", "consent", { outcome: "denied", ...fields });
    return errorResponse(issuer, request, "access_denied", { description: "The person said no", status: 303 });
  }
  const ticked = new Set(form.getAll("scope"));
  const scopes = request.scopes.filter((name) => ticked.has(name)); // what was not requested cannot be added
  if (scopes.length === 0) {
    return showConsent(deps, pending, signedIn, { problem: "Tick at least one, or choose Deny." });
  }
  const code = await issueCode(deps, pending, signedIn, scopes);
  if (code === null) return null;
  log.write("audit", "consent", { outcome: "allowed", scopes, ...fields });
  return codeResponse(issuer, request, code);
}

/** Uses the request up, keeps the client, and stores the code: all of it or nothing. */
async function issueCode(
  { storage, clock, lifetimes }: InteractionDeps,
  { stored, request, client }: Pending,
  { account }: SignedIn,
  scopes: string[],
): Promise<string | null> {
  const code = `pca_${randomSecret()}`;
  const now = clock();
  const expiresAt = now + lifetimes.authorizationCodeLifetimeSeconds * 1_000;
  const { clientId, redirectUri, codeChallenge, resource } = request;
  const record = {
    grantId: randomId(),
    clientId,
    userId: account.id,
    credentialHash: account.credentialHash,
    redirectUri,
    codeChallenge,
    scopes,
    resource,
    createdAt: now,
    expiresAt,
    redeemedAt: null,
  };
  const isFirstUse = client.origin === "registered" && client.usedAt === null;
  // A metadata document is kept from here on, so that refreshing does not depend on somebody's web server.
  const snapshotUntil = now + lifetimes.refreshTokenLifetimeSeconds * 1_000;
  const committed = await storage.commit({
    checks: [unchanged(stored)],
    puts: [
      authorizationCodes.put(hashSecret(code), record, expiresAt),
      ...(isFirstUse ? [clients.put(client.id, { ...client, usedAt: now })] : []),
      ...(client.origin === "metadata_document"
        ? [clients.put(client.id, { ...client, usedAt: now }, snapshotUntil)]
        : []),
    ],
    deletes: [stored.key, ...(isFirstUse ? [unusedClients.key(...unusedClientId(client))] : [])],
  });
  return committed ? code : null;
}
