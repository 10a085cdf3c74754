/** `/oauth/consent`: the user's decision, and the authorization code that it yields. */
import * as z from "zod";
import { refreshTokenLifetimeSeconds } from "./context.ts";
import { type Browser, readBrowserForm, type SignedIn } from "./browser_sessions.ts";
import { findPending, type InteractionOptions, pathsOf, type Pending, proofOf, showSignIn } from "./interaction.ts";
import { equalInConstantTime, hashSecret, randomId, type SecretBox } from "../lib/secrets.ts";
import { asksForFiles, grantableScopes, showConsent } from "./consent_page.ts";
import { html, pageResponse } from "../lib/page.ts";
import type { InstanceSignIn } from "./servicenow_port.ts";
import { goToInstancePage } from "./servicenow_sign_in.ts";
import {
  authorizationCodeLifetimeSeconds,
  authorizationCodes,
  type AuthorizationRequest,
  authorizationRequests,
  clients,
  clientStillThere,
  conflict,
  defineRecordFamily,
  retryOnConflict,
  unchanged,
  unusedClientId,
  waitingListOf,
} from "./records.ts";
import { usesServicenow } from "../lib/scopes.ts";
import type { Clock } from "../lib/time.ts";
import type { Batch, Put } from "../storage/mod.ts";
import { codeResponse, errorResponse, type ResponseTarget } from "./authorize.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import { errorPage, methodNotAllowedPage } from "./error_page.ts";
import { logStep } from "./refusal.ts";

// * Between consent and the way back to a client that may use ServiceNow: the offer to link an account there first. The
// approval waits in the request, and the code is made when the person goes on, so that its short life begins then.

/** The scopes that this person approved in this request, if their credential is still the same. */
function approvedScopes({ request: { approved } }: Pending, { account }: SignedIn): readonly string[] | null {
  if (approved?.userId !== account.id || approved.credentialHash !== account.credentialHash) return null;
  const scopes = grantableScopes(approved.scopes, account);
  return scopes.length === 0 ? null : scopes;
}

/** Whether these scopes need a linked account that the person lacks. */
async function needsLink(
  { servicenow }: InteractionOptions,
  scopes: readonly string[],
  { account }: SignedIn,
): Promise<boolean> {
  if (servicenow === undefined || !usesServicenow(scopes)) return false;
  return (await servicenow.instance.status(account.id)).state !== "linked";
}

/** Stores the approval; `false` when the request was changed or answered in the meantime. */
async function keepApproval(
  { storage, clock }: InteractionOptions,
  { handle, request, stored }: Pending,
  { account: { id: userId, credentialHash } }: SignedIn,
  scopes: readonly string[],
): Promise<boolean> {
  const value = { ...request, approved: { userId, credentialHash, scopes: [...scopes] } };
  const expiresAt = clock() + approvedRequestLifetimeSeconds * 1_000;
  return await storage.commit({
    checks: [unchanged(stored)],
    puts: [authorizationRequests.put(hashSecret(handle), value, expiresAt)],
  });
}

/** The page after consent: link an account at the instance now, or later. */
function showOffer(options: InteractionOptions, pending: Pending, { account }: SignedIn): Response {
  return pageResponse({
    title: "Link your ServiceNow account",
    formsLeave: true,
    body: html`
      <h1>Link your ServiceNow account</h1>
      <p>You allowed “${pending.client.name}” to use ServiceNow. It acts there as you, with your own rights only, so it
        needs your account at <strong class="mono">${new URL(options.servicenow?.instance.origin ?? "")
          .host}</strong>.</p>
      <p class="quiet">You sign in to ServiceNow and come back here, and then to the application. Until an account is
        linked, the application cannot use ServiceNow.</p>
      <form method="post" action="${pathsOf(options.issuer).consent}">
        <input type="hidden" name="request" value="${pending.handle}">
        <input type="hidden" name="account" value="${account.id}">
        <input type="hidden" name="proof" value="${proofOf(options, pending, account)}">
        <div class="actions">
          <button type="submit" name="decision" value="link">Link your ServiceNow account now</button>
          <button type="submit" name="decision" value="later" class="plain">Later</button>
        </div>
      </form>
    `,
  });
}

/** Redirects the browser to the instance, which returns it to this request. */
async function visitInstance(
  instance: InstanceSignIn,
  { handle, request: { browserHash } }: Pending,
  { account }: SignedIn,
): Promise<Response> {
  const purpose = { kind: "link", subject: account.id, next: handle } as const;
  const { url } = await instance.begin({ browser: browserHash, purpose });
  return goToInstancePage(url);
}

/** `["answered_request", SHA-256 of the handle]`, expiring. */
const answeredRequests = defineRecordFamily("answered_request", () => ({
  /** SHA-256 of the cookie of the browser that decided. */
  browserHash: z.string(),
  /** SHA-256 of the decision as it was posted. */
  decisionHash: z.string(),
  redirectUri: z.string(),
  state: z.string().nullable(),
  isAllowed: z.boolean(),
}));

/** From consent on, where the person links an account first: twice what the visit to the instance may take. */
const approvedRequestLifetimeSeconds = 1_200;

// * A decision that a browser sends twice: by a double click, a held Enter key, or its own retry. It shows the answer
// to the second, so that has to be the same redirect. The code in it is derived, not stored; it can still be redeemed
// once.

const repeatSeconds = 30;

/** The one code of a request. Only the page has the handle, and only we the key. */
function codeOf(secrets: SecretBox, handle: string): string {
  return `pca_${secrets.authenticate("authorization-code", handle)}`;
}

/** The answer to a decision. */
function decisionResponse(
  { issuer, secrets }: InteractionOptions,
  { handle, target, isAllowed }: {
    readonly handle: string;
    readonly target: ResponseTarget;
    readonly isAllowed: boolean;
  },
): Response {
  return isAllowed
    ? codeResponse(issuer, target, codeOf(secrets, handle))
    : errorResponse(issuer, target, "access_denied", { description: "The user denied access", status: 303 });
}

/** The record of a decision, so that sending it again gets the same answer. */
function rememberDecision(
  { handle, request, form, isAllowed }: {
    readonly handle: string;
    readonly request: AuthorizationRequest;
    readonly form: URLSearchParams;
    readonly isAllowed: boolean;
  },
  clock: Clock,
): Put {
  const { browserHash, redirectUri, state } = request;
  const answered = { browserHash, decisionHash: decisionHash(form), redirectUri, state, isAllowed };
  return answeredRequests.put(hashSecret(handle), answered, clock() + repeatSeconds * 1_000);
}

/** The answer that the same browser got to the same decision on the same page; `null` for anything else. */
async function repeatDecision(
  options: InteractionOptions,
  browser: Browser,
  form: URLSearchParams,
): Promise<Response | null> {
  const handle = form.get("request") ?? "";
  const answered = handle === "" ? null : await answeredRequests.read(options.storage, hashSecret(handle));
  if (answered === null || !browser.hashes.includes(answered.value.browserHash)) return null;
  if (answered.value.decisionHash !== decisionHash(form)) return null;
  return decisionResponse(options, { handle, target: answered.value, isAllowed: answered.value.isAllowed });
}

function decisionHash(form: URLSearchParams): string {
  const parts = ["account", "proof", "decision"].map((name) => form.get(name));
  return hashSecret(JSON.stringify([...parts, ...form.getAll("scope").sort(), ...form.getAll("directory").sort()]));
}

export function createConsentEndpoint(options: InteractionOptions): Endpoint {
  const { log, limits, browsers } = options;
  /** On the way back to a client, the session ends where other programs of this machine could use it. */
  const leave = async <Answer extends Response | null>(request: Request, response: Answer): Promise<Answer> => {
    if (browsers.cookiesReachOtherPorts && response?.status === 303) {
      response.headers.append("set-cookie", await browsers.signOut(request));
    }
    return response;
  };
  /** For the second of two forms that a double click sent. */
  const offerAgain = async (request: Request, form: URLSearchParams): Promise<Response | null> => {
    const pending = await findPending(options, form.get("request") ?? "", browsers.identify(request));
    const signedIn = pending === null ? null : await signedInFor(options, pending, request);
    if (pending === null || signedIn === null || approvedScopes(pending, signedIn) === null) return null;
    return showOffer(options, pending, signedIn);
  };
  return async (request, peer) => {
    const browser = browsers.identify(request);
    const gone = (): Response => {
      const reason = browser.isNew ? "cookie_missing" : "request_gone";
      logStep({ log, peer }, "consent", { outcome: "refused", reason });
      return errorPage(options.issuer, reason);
    };
    if (request.method === "GET") {
      const { searchParams } = new URL(request.url);
      const pending = await findPending(options, searchParams.get("request") ?? "", browser);
      if (pending === null) return await repeatDecision(options, browser, searchParams) ?? gone();
      const signedIn = await signedInFor(options, pending, request);
      if (signedIn === null) return await showSignIn(options, { kind: "request", waiting: pending });
      const scopes = approvedScopes(pending, signedIn);
      if (scopes === null) return await showConsent(options, pending, signedIn);
      if (await needsLink(options, scopes, signedIn)) return showOffer(options, pending, signedIn);
      return await leave(request, await answer(options, { pending, signedIn, peer }, { form: searchParams, scopes })) ??
        await repeatDecision(options, browser, searchParams) ?? gone();
    }
    if (request.method !== "POST") return methodNotAllowedPage(options.issuer, "GET", "POST");
    const form = await readBrowserForm(request, limits);
    if (!form.ok) return errorPage(options.issuer, form.error);
    const pending = await findPending(options, form.value.get("request") ?? "", browser);
    if (pending === null) return await repeatDecision(options, browser, form.value) ?? gone();
    const session = await signedInFor(options, pending, request);
    const signedIn = session ??
      (browsers.cookiesReachOtherPorts ? await signedInByPage(options, pending, form.value) : null);
    if (signedIn === null) return await showSignIn(options, { kind: "request", waiting: pending });
    // Another user signed in meanwhile, in another tab: show whose consent this would be.
    if (form.value.get("account") !== signedIn.account.id) {
      return await showConsent(options, pending, signedIn, {
        problem: "The signed-in account changed. Check it before you decide.",
        ticked: form.value.getAll("scope"),
      });
    }
    // Without a session there is no way back from the instance.
    const mayLink = session !== null;
    const response = await decide(options, { pending, signedIn, peer, mayLink }, form.value) ??
      await repeatDecision(options, browser, form.value) ?? await offerAgain(request, form.value) ?? gone();
    return await leave(request, response);
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
  decision: Decision & { readonly mayLink: boolean },
  form: URLSearchParams,
): Promise<Response | null> {
  const { pending, signedIn, mayLink } = decision;
  const approved = approvedScopes(pending, signedIn);
  switch (form.get("decision")) {
    case "link":
      if (!mayLink) return await showSignIn(options, { kind: "request", waiting: pending });
      return approved === null || options.servicenow === undefined
        ? await showConsent(options, pending, signedIn)
        : await visitInstance(options.servicenow.instance, pending, signedIn);
    case "later":
      return approved === null
        ? await showConsent(options, pending, signedIn)
        : await answer(options, decision, { form, scopes: approved });
    case "allow": {
      const ticked = new Set(form.getAll("scope"));
      const grantable = grantableScopes(pending.request.scopes, signedIn.account); // only what was requested
      const scopes = grantable.filter((name) => ticked.has(name));
      const chosen = withDirectories(options, pending, { form, scopes });
      if (scopes.length === 0 || chosen.request.directories?.length === 0) {
        const problem = `Tick at least one ${scopes.length === 0 ? "box" : "folder"}, or choose Deny.`;
        return await showConsent(options, pending, signedIn, { problem, ticked: scopes });
      }
      if (!mayLink || !await needsLink(options, scopes, signedIn)) {
        return await answer(options, { ...decision, pending: chosen }, { form, scopes });
      }
      return await keepApproval(options, chosen, signedIn, scopes) ? showOffer(options, chosen, signedIn) : null;
    }
    default:
      return await answer(options, decision, { form, scopes: null });
  }
}

/** The request with the directories that the person ticked: none listed where it is all, or no files are asked for. */
function withDirectories(
  { directories: known = [] }: InteractionOptions,
  pending: Pending,
  { form, scopes }: { readonly form: URLSearchParams; readonly scopes: readonly string[] },
): Pending {
  const directories = known.filter((name) => form.getAll("directory").includes(name));
  const { directories: _, ...request } = pending.request;
  const isLimited = asksForFiles(scopes) && directories.length < known.length;
  return { ...pending, request: isLimited ? { ...request, directories } : request };
}

/** Consumes the request and redirects the browser; without `scopes` the user denied. */
async function answer(
  options: InteractionOptions,
  { pending, signedIn, peer }: Decision,
  { form, scopes }: { readonly form: URLSearchParams; readonly scopes: readonly string[] | null },
): Promise<Response | null> {
  const { storage, log, clock } = options;
  const { request, handle, stored } = pending;
  const fields = { user: signedIn.account.id, client: pending.client.id };
  const grantId = randomId();
  const isAllowed = scopes !== null;
  const answered = rememberDecision({ handle, request, form, isAllowed }, clock);
  const approval = isAllowed ? approve(options, { ...pending, grantId }, signedIn, scopes) : { puts: [], deletes: [] };
  const committed = await retryOnConflict(async () => {
    const clientCheck = await clientStillThere(storage, pending.client);
    const waiting = await storage.get(stored.key);
    if (clientCheck === null || waiting?.version !== stored.version) return false;
    const done = await storage.commit({
      checks: [unchanged(stored), clientCheck],
      puts: [answered, ...approval.puts],
      deletes: [stored.key, ...approval.deletes],
    });
    return done || conflict;
  });
  if (!committed) return null;
  logStep({ log, peer }, "consent", {
    outcome: isAllowed ? "allowed" : "denied",
    ...(isAllowed ? { scopes } : {}),
    ...fields,
  }, isAllowed ? { grant: grantId } : {});
  return decisionResponse(options, { handle, target: request, isAllowed });
}

/** The writes that store the code and keep the client. */
function approve(
  { secrets, clock }: InteractionOptions,
  { handle, request, client, grantId }: Pending & { readonly grantId: string },
  { account }: SignedIn,
  scopes: readonly string[],
): Required<Pick<Batch, "puts" | "deletes">> {
  const now = clock();
  const expiresAt = now + authorizationCodeLifetimeSeconds * 1_000;
  const { clientId, redirectUri, codeChallenge, resource } = request;
  const record = {
    grantId,
    clientId,
    userId: account.id,
    credentialHash: account.credentialHash,
    redirectUri,
    codeChallenge,
    scopes: [...scopes],
    ...request.directories && { directories: request.directories },
    resource,
    createdAt: now,
    expiresAt,
    redeemedAt: null,
  };
  const isFirstUse = client.origin === "registered" && client.usedAt === null;
  // A metadata document is kept from here on, so that refreshing does not depend on its web server.
  const snapshotUntil = now + refreshTokenLifetimeSeconds * 1_000;
  return {
    puts: [
      authorizationCodes.put(hashSecret(codeOf(secrets, handle)), record, expiresAt),
      ...(isFirstUse ? [clients.put(client.id, { ...client, usedAt: now })] : []),
      ...(client.origin === "metadata_document"
        ? [clients.put(client.id, { ...client, usedAt: now }, snapshotUntil)]
        : []),
    ],
    deletes: isFirstUse ? [waitingListOf(client).key(...unusedClientId(client))] : [],
  };
}
