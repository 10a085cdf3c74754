/** `/oauth/consent`: the user's decision, and the authorization code that it yields. */
import { refreshTokenLifetimeSeconds } from "./context.ts";
import { type Browser, readBrowserForm, type SignedIn } from "./browser_sessions.ts";
import { findPending, type InteractionOptions, type Pending, proofOf, showSignIn } from "./interaction.ts";
import { equalInConstantTime, hashSecret, randomId } from "../lib/secrets.ts";
import { asksForFiles, grantableScopes, showConsent } from "./consent_page.ts";
import { goToInstancePage } from "./servicenow_sign_in.ts";
import {
  authorizationCodeLifetimeSeconds,
  authorizationCodes,
  type AuthorizationRequest,
  authorizationRequests,
  clients,
  clientStillThere,
  conflict,
  retryOnConflict,
  unchanged,
  unusedClientId,
  waitingListOf,
} from "./records.ts";
import type { Batch } from "../storage/mod.ts";
import { redirectResponse } from "../lib/page.ts";
import { locationOf } from "./authorize.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import { errorPage, methodNotAllowedPage } from "./error_page.ts";
import { logStep } from "./refusal.ts";

export function createConsentEndpoint(options: InteractionOptions): Endpoint {
  const { log, limits, browsers, issuer } = options;
  return async (request, peer) => {
    const browser = browsers.identify(request);
    const gone = (): Response => {
      const reason = browser.isNew ? "cookie_missing" : "request_gone";
      logStep({ log, peer }, "consent", { outcome: "refused", reason });
      return errorPage(issuer, reason);
    };
    if (request.method === "GET") {
      const handle = new URL(request.url).searchParams.get("request") ?? "";
      const pending = await findPending(options, handle, browser);
      if (pending === null) return gone();
      const signedIn = await signedInFor(options, pending, request);
      return signedIn === null
        ? await showSignIn(options, { kind: "request", waiting: pending })
        : await showConsent(options, pending, signedIn);
    }
    if (request.method !== "POST") return methodNotAllowedPage(issuer, "GET", "POST");
    const form = await readBrowserForm(request, limits);
    if (!form.ok) return errorPage(issuer, form.error);
    const pending = await findPending(options, form.value.get("request") ?? "", browser);
    if (pending === null) return await repeatDecision(options, browser, form.value) ?? gone();
    const session = await signedInFor(options, pending, request);
    const byPage = session === null && browsers.cookiesReachOtherPorts;
    const signedIn = byPage ? await signedInByPage(options, pending, form.value) : session;
    // Without a session there is no way back from the instance.
    const needsSession = form.value.get("decision") === "link" && session === null;
    if (signedIn === null || needsSession) return await showSignIn(options, { kind: "request", waiting: pending });
    // Another user signed in meanwhile, in another tab: show whose consent this would be.
    if (form.value.get("account") !== signedIn.account.id) {
      return await showConsent(options, pending, signedIn, {
        problem: "The signed-in account changed. Check it before you decide.",
        ticked: form.value.getAll("scope"),
      });
    }
    const response = await decide(options, { pending, signedIn, peer }, form.value) ??
      await repeatDecision(options, browser, form.value) ?? gone();
    // On the way back to a client, the session ends where other programs of this machine could use it.
    if (browsers.cookiesReachOtherPorts && response.status === 303) {
      response.headers.append("set-cookie", await browsers.signOut(request));
    }
    return response;
  };
}

/** The user signed in for this request; `prompt=login` requires a sign-in after the request began. */
async function signedInFor(
  options: InteractionOptions,
  waiting: Pending,
  request: Request,
): Promise<SignedIn | null> {
  const signedIn = await options.browsers.signedIn(request);
  return signedIn !== null && signedIn.signedInAt >= waiting.request.signInAfter ? signedIn : null;
}

/** The user that a posted consent page was shown to: a substitute for the session where each decision ends it. */
async function signedInByPage(
  options: InteractionOptions,
  waiting: Pending,
  form: URLSearchParams,
): Promise<SignedIn | null> {
  const account = await options.users.find(form.get("account") ?? "");
  if (account === null || !equalInConstantTime(form.get("proof") ?? "", proofOf(options, waiting, account))) {
    return null;
  }
  return { account, signedInAt: waiting.request.signInAfter, byCompany: account.company !== null };
}

interface Decision {
  readonly pending: Pending;
  readonly signedIn: SignedIn;
  readonly peer: Peer;
}

/** Carries the decision out; `null` when the same page was answered a moment ago. */
async function decide(
  options: InteractionOptions,
  decision: Decision,
  form: URLSearchParams,
): Promise<Response | null> {
  const { pending, signedIn } = decision;
  switch (form.get("decision")) {
    case "link":
      return await linkFirst(options, decision);
    case "allow": {
      const ticked = new Set(form.getAll("scope"));
      const grantable = grantableScopes(pending.request.scopes, signedIn.account); // only what was requested
      const scopes = grantable.filter((name) => ticked.has(name));
      const directories = limitOf(options, form, scopes);
      if (scopes.length === 0 || directories?.length === 0) {
        const problem = `Tick at least one ${scopes.length === 0 ? "box" : "folder"}, or choose Deny.`;
        return await showConsent(options, pending, signedIn, { problem, ticked: scopes });
      }
      return await answer(options, decision, form, { scopes, ...directories && { directories } });
    }
    default:
      return await answer(options, decision, form, null);
  }
}

/** The request waits longer where an account is linked first: twice what the visit to the instance may take. */
const linkingLifetimeMs = 1_200_000;

/** Sends the browser to link an account of the ServiceNow instance, which returns it to this request. */
async function linkFirst(
  { storage, clock, servicenow }: InteractionOptions,
  { pending: { handle, request, stored }, signedIn: { account } }: Decision,
): Promise<Response | null> {
  if (servicenow === undefined) return null;
  const isKept = await storage.commit({
    checks: [unchanged(stored)],
    puts: [authorizationRequests.put(hashSecret(handle), request, clock() + linkingLifetimeMs)],
  });
  if (!isKept) return null;
  const purpose = { kind: "link", subject: account.id, next: handle } as const;
  const { url } = await servicenow.instance.begin({ browser: request.browserHash, purpose });
  return goToInstancePage(url);
}

/** The directories that the person ticked; `undefined` where it is all, or no files are asked for. */
function limitOf(
  { directories: known = [] }: InteractionOptions,
  form: URLSearchParams,
  scopes: readonly string[],
): string[] | undefined {
  const ticked = known.filter((name) => form.getAll("directory").includes(name));
  return asksForFiles(scopes) && ticked.length < known.length ? ticked : undefined;
}

/** What a user allowed. */
interface Allowed {
  readonly scopes: readonly string[];
  readonly directories?: string[];
}

/** A browser may send a decision twice, and shows the answer to the second: for so long it is the same redirect. */
const repeatSeconds = 30;

/** Answers the request and redirects the browser; `allowed` is `null` where the user denied. */
async function answer(
  options: InteractionOptions,
  { pending, signedIn, peer }: Decision,
  form: URLSearchParams,
  allowed: Allowed | null,
): Promise<Response | null> {
  const { storage, log, clock } = options;
  const { request, handle, stored } = pending;
  const grantId = randomId();
  const answered = { decisionHash: decisionHash(form), isAllowed: allowed !== null };
  const repeatable = authorizationRequests.put(
    hashSecret(handle),
    { ...request, answered },
    clock() + repeatSeconds * 1_000,
  );
  const approval = allowed === null ? { puts: [], deletes: [] } : approve(options, pending, signedIn, grantId, allowed);
  const committed = await retryOnConflict(async () => {
    const clientCheck = await clientStillThere(storage, pending.client);
    const waiting = await storage.get(stored.key);
    if (clientCheck === null || waiting?.version !== stored.version) return false;
    const done = await storage.commit({
      checks: [unchanged(stored), clientCheck],
      puts: [repeatable, ...approval.puts],
      deletes: approval.deletes,
    });
    return done || conflict;
  });
  if (!committed) return null;
  const fields = { user: signedIn.account.id, client: pending.client.id };
  if (allowed === null) logStep({ log, peer }, "consent", { outcome: "denied", ...fields });
  else {
    const { scopes } = allowed;
    logStep({ log, peer }, "consent", { outcome: "allowed", scopes, ...fields }, { grant: grantId });
  }
  return decisionResponse(options, handle, { ...request, answered });
}

/** The writes that store the code and keep the client. */
function approve(
  options: InteractionOptions,
  { handle, request, client }: Pending,
  { account }: SignedIn,
  grantId: string,
  { scopes, ...limit }: Allowed,
): Required<Pick<Batch, "puts" | "deletes">> {
  const now = options.clock();
  const expiresAt = now + authorizationCodeLifetimeSeconds * 1_000;
  const { clientId, redirectUri, codeChallenge, resource } = request;
  const { id: userId, credentialHash } = account;
  const named = { grantId, clientId, userId, credentialHash, redirectUri, codeChallenge, resource };
  const record = { ...named, scopes: [...scopes], ...limit, createdAt: now, expiresAt, redeemedAt: null };
  const codePut = authorizationCodes.put(hashSecret(codeOf(options, handle)), record, expiresAt);
  const used = { ...client, usedAt: now };
  // A metadata document is kept from here on, so that refreshing does not depend on its web server.
  const snapshotUntil = now + refreshTokenLifetimeSeconds * 1_000;
  if (client.origin === "metadata_document") {
    return { puts: [codePut, clients.put(client.id, used, snapshotUntil)], deletes: [] };
  }
  if (client.origin !== "registered" || client.usedAt !== null) return { puts: [codePut], deletes: [] };
  return {
    puts: [codePut, clients.put(client.id, used)],
    deletes: [waitingListOf(client).key(...unusedClientId(client))],
  };
}

/** The one code of a request: derived, so that it need not be stored. Only the page has the handle, and only we the key. */
function codeOf({ secrets }: InteractionOptions, handle: string): string {
  return `pca_${secrets.authenticate("authorization-code", handle)}`;
}

function decisionResponse(options: InteractionOptions, handle: string, request: AuthorizationRequest): Response {
  const parameters: Record<string, string> = request.answered?.isAllowed
    ? { code: codeOf(options, handle) }
    : { error: "access_denied", error_description: "The user denied access" };
  return redirectResponse(303, locationOf(options.issuer, request, parameters)); // 303, since a form was posted
}

/** The answer that the same browser got to the same decision on the same page; `null` for anything else. */
async function repeatDecision(
  options: InteractionOptions,
  browser: Browser,
  form: URLSearchParams,
): Promise<Response | null> {
  const handle = form.get("request") ?? "";
  const request = (await authorizationRequests.read(options.storage, hashSecret(handle)))?.value;
  if (request === undefined || !browser.hashes.includes(request.browserHash)) return null;
  return request.answered?.decisionHash === decisionHash(form) ? decisionResponse(options, handle, request) : null;
}

function decisionHash(form: URLSearchParams): string {
  const parts = ["account", "proof", "decision"].map((name) => form.get(name));
  return hashSecret(JSON.stringify([...parts, ...form.getAll("scope").sort(), ...form.getAll("directory").sort()]));
}
