/** `/oauth/authorize` (RFC 6749 §3.1) and `/oauth/consent`: a client's request, a person's decision, and its code. */
import { type Html, html, noDefaultButton, pageResponse, redirectResponse } from "../lib/page.ts";
import {
  authorizationCodeLifetimeSeconds,
  authorizationCodes,
  authorizationRequestLifetimeSeconds,
  authorizationRequests,
  clients,
  clientStillThere,
  conflict,
  retryOnConflict,
  unchanged,
  unusedClientId,
  waitingListOf,
} from "./records.ts";
import type { AuthorizationRequest, Client } from "./records.ts";
import {
  classifyRedirectUri,
  locationOf,
  nativeApplicationOf,
  redirectTarget,
  selectRedirectUri,
} from "./redirect_uri.ts";
import { hiddenText, logStep, maxQueryCharacters, type Parameters, toParameters } from "./exchange.ts";
import { knownScopes, parseScope } from "./scope.ts";
import { addressKey, isClientDocumentUrl } from "../lib/network.ts";
import type { ClientDirectory, ClientDocumentProblem } from "./client_directory.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import {
  deadEnd,
  deadEndPage,
  errorPage,
  factList,
  findPending,
  mono,
  pathsOf,
  postForm,
  showSignIn,
  wrongMethodPage,
} from "./interaction.ts";
import type { DeadEnd, InteractionOptions, Pending, Waiting } from "./interaction.ts";
import type { DocumentProblem } from "../lib/document_fetcher.ts";
import { equalInConstantTime, hashSecret, randomId, randomSecret } from "../lib/secrets.ts";
import type { Lifetimes, ServicenowStatus } from "./context.ts";
import { type Browser, readBrowserForm, type SignedIn } from "./browser_sessions.ts";
import { goToInstancePage } from "./servicenow_sign_in.ts";
import type { Batch } from "../storage/mod.ts";
import type { Account } from "./manage_users.ts";
import { scopeCatalogue } from "../lib/principal.ts";
import { durationWords } from "../lib/time.ts";
import { refreshIdleLifetimeSeconds, refreshTokenLifetimeSeconds } from "./token.ts";

/** Where a response goes. */
type ResponseTarget = Pick<AuthorizationRequest, "redirectUri" | "state">;

// * The rules of the authorization endpoint, in the order that keeps it from being an open redirector: the client, then
// its redirect URI, and only then everything that may be told to the client by redirect (RFC 6749 §4.1.2.1).

/** Faults that are reported to the client: the error (RFC 6749 §4.1.2.1) and its description. */
const authorizationProblems = {
  // RFC 9101 objects would override what was checked here.
  request_object: ["request_not_supported", "request is not supported"],
  request_uri: ["request_uri_not_supported", "request_uri is not supported"],
  response_type_missing: ["invalid_request", "response_type is missing"],
  response_type_not_code: ["unsupported_response_type", "response_type must be code"],
  response_mode_not_query: ["invalid_request", "response_mode must be query"],
  grant_not_registered: ["unauthorized_client", "The client is not registered for the authorization code grant"],
  code_challenge_missing: ["invalid_request", "code_challenge is missing"], // OAuth 2.1 §4.1.1
  // An absent method would mean plain (RFC 7636 §4.3), which lets anyone who sees the request redeem the code.
  code_challenge_not_s256: ["invalid_request", "code_challenge_method must be S256"],
  code_challenge_malformed: ["invalid_request", "code_challenge is not an S256 challenge"],
  foreign_resource: ["invalid_target", "The requested resource is not this server's"], // RFC 8707 §2
  // Consent is asked on every authorization.
  prompt_none: ["consent_required", "prompt=none cannot be satisfied"],
} as const;

type AuthorizationProblem = keyof typeof authorizationProblems;

/** Error codes of RFC 6749 §4.1.2.1, RFC 8707 §2 and OpenID Connect Core §3.1.2.6 that a client may be sent. */
type AuthorizationError = (typeof authorizationProblems)[AuthorizationProblem][0] | "login_required";

function findProblem(
  client: Client,
  parameters: Parameters,
  isAcceptedResource: (values: readonly string[]) => boolean,
): AuthorizationProblem | null {
  if (parameters.get("request") !== undefined) return "request_object";
  if (parameters.get("request_uri") !== undefined) return "request_uri";
  const responseType = parameters.get("response_type");
  if (responseType === undefined) return "response_type_missing";
  if (responseType !== "code") return "response_type_not_code";
  if ((parameters.get("response_mode") ?? "query") !== "query") return "response_mode_not_query";
  if (!client.grantTypes.includes("authorization_code")) return "grant_not_registered";
  const challenge = parameters.get("code_challenge");
  if (challenge === undefined) return "code_challenge_missing";
  if (parameters.get("code_challenge_method") !== "S256") return "code_challenge_not_s256";
  if (!isCodeChallenge(challenge)) return "code_challenge_malformed";
  return isAcceptedResource(parameters.getAll("resource")) ? null : "foreign_resource";
}

/** Whether the text can be an S256 challenge: 32 bytes as base64url without padding (RFC 7636 §4.2). */
export function isCodeChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/**
 * The offered ones of the requested scopes; unknown ones are left out (RFC 6749 §3.3). A request without a known one,
 * as of clients that ask every server for `openid offline_access`, gets the default: what the client registered, or
 * all. A client is not held to what it registered, since the user decides about each scope and clients step up to
 * scopes that they learn of later (MCP authorization, scope challenges).
 */
function requestedScopes(client: Client, scope: string | undefined, offered: readonly string[]): readonly string[] {
  const requested = knownScopes(parseScope(scope ?? ""), offered);
  if (requested.length > 0) return requested;
  const registered = knownScopes(client.scopes, offered);
  return registered.length > 0 ? registered : offered;
}

/** What the endpoint needs besides what all browser endpoints share. */
interface AuthorizeOptions extends InteractionOptions {
  readonly findForAuthorization: ClientDirectory["findForAuthorization"];
  readonly isAcceptedResource: (values: readonly string[]) => boolean;
  readonly offeredScopes: readonly string[];
}

/** Why no document is fetched from a client's id that is a URL. */
type UrlProblem = "client_documents_off" | "forbidden_url";

/** Validates the request, stores it, and shows the first page. */
export function createAuthorizeEndpoint(options: AuthorizeOptions): Endpoint {
  const { issuer, log, browsers, users, findForAuthorization } = options;
  return async (request, peer) => {
    if (request.method !== "GET") return wrongMethodPage(issuer, "GET");
    const url = new URL(request.url);
    const clientId = url.searchParams.get("client_id") ?? "";
    let loggedClient = hiddenText(options.secrets, clientId);
    const refused = (reason: string, problem?: AuthorizationProblem | UrlProblem): void =>
      logStep(
        { log, peer },
        "authorization",
        { outcome: "refused", reason, problem, client: clientId === "" ? undefined : loggedClient },
        { reason: problem ?? reason, client: loggedClient },
      );
    const refusePage = (reason: DeadEnd, problem?: UrlProblem): Response => {
      refused(reason, problem);
      return errorPage(issuer, reason);
    };
    if (url.search.length > maxQueryCharacters) return refusePage("request_too_long");
    if (options.signInElsewhere === undefined && options.company === undefined && !await users.hasOwner()) {
      return refusePage("not_set_up");
    }
    const parameters = toParameters(url.searchParams);
    // No honest client sends repeated parameters or control characters, and parsers disagree about them.
    if (!parameters.ok || [...url.searchParams.values()].some((value) => /\p{Cc}/u.test(value))) {
      return refusePage("malformed_request");
    }
    if (clientId === "") return refusePage("nothing_asked");
    const found = await findForAuthorization(clientId, addressKey(peer.address));
    if (!found.ok) {
      if (found.error === "unknown_client") {
        const asUrl = isClientDocumentUrl(clientId) ? "client_documents_off" : "forbidden_url";
        return refusePage("unknown_client", /^https?:/.test(clientId) ? asUrl : undefined);
      }
      refused(found.error);
      return clientDocumentPage(found.error);
    }
    const client = found.value;
    loggedClient = client.id;
    const sendBack = async (target: ResponseTarget, problem: AuthorizationProblem, as?: AuthorizationError) => {
      const [ofProblem, text] = authorizationProblems[problem];
      const error = as ?? ofProblem;
      refused(error, problem);
      const description = error === "invalid_target" ? `${text}; it must be ${options.resource}` : text;
      const location = locationOf(issuer, target, { error, error_description: description });
      if (!await isStranger(options, client, target)) return redirectResponse(302, location);
      return refusedRequestPage(client, description, location);
    };
    const redirectUri = selectRedirectUri(parameters.value.get("redirect_uri"), client.redirectUris);
    if (redirectUri === null) return refusePage("redirect_uri_not_registered"); // told to the user, and redirected nowhere
    const target: ResponseTarget = { redirectUri, state: parameters.value.get("state") ?? null };
    const problem = findProblem(client, parameters.value, options.isAcceptedResource);
    if (problem !== null) return await sendBack(target, problem);
    const session = await browsers.signedIn(request);
    const prompts = (parameters.value.get("prompt") ?? "").split(" "); // OpenID Connect Core §3.1.2.1
    if (prompts.includes("none")) {
      // Consent is asked on every authorization, so this can never succeed.
      return await sendBack(target, "prompt_none", session === null ? "login_required" : undefined);
    }
    const browser = browsers.identify(request);
    const asksSignIn = prompts.includes("login"); // whatever the session says
    const now = options.clock();
    const kept: AuthorizationRequest = {
      ...target,
      clientId,
      codeChallenge: parameters.value.get("code_challenge") ?? "",
      scopes: [...requestedScopes(client, parameters.value.get("scope"), options.offeredScopes)],
      resource: options.resource,
      browserHash: browser.hash,
      signInAfter: asksSignIn ? now : 0,
      createdAt: now,
    };
    const handle = randomSecret();
    const expiresAt = now + authorizationRequestLifetimeSeconds * 1_000;
    await options.storage.commit({ puts: [authorizationRequests.put(hashSecret(handle), kept, expiresAt)] });
    const waiting = { handle, client, request: kept };
    const redirectHost = redirectTarget(redirectUri);
    logStep({ log, peer, level: "info" }, "authorization", { outcome: "asked", client: client.id, redirectHost });
    return asksSignIn || session === null
      ? await showSignIn(options, { kind: "request", waiting }, { cookies: browser.cookies })
      : await showConsent(options, waiting, session, { cookies: browser.cookies });
  };
}

/**
 * Whether this client could be an attacker's: published or registered by a stranger, and approved by no user here. If
 * its bad requests were redirected, this server would be an open redirector (RFC 9700 §4.11.2).
 */
async function isStranger({ storage }: AuthorizeOptions, client: Client, { redirectUri }: ResponseTarget) {
  if (client.origin === "metadata_document") return await clients.read(storage, client.id) === null;
  // A program on the user's own machine is no site that a link could lead to.
  return client.origin === "registered" && client.usedAt === null && client.isVouchedFor !== true &&
    classifyRedirectUri(redirectUri) === "https";
}

/** Faults of a document from a public address with a valid certificate: those details are public anyway. */
const publicFaults: ReadonlySet<string> = new Set<ClientDocumentProblem | DocumentProblem>([
  ...["malformed_response", "response_too_large", "host_unavailable", "unexpected_status", "not_json"] as const,
  ...["unexpected_content_type", "malformed_document", "client_id_mismatch", "secret_in_document"] as const,
  ...["unsupported_document_authentication", "unsupported_document_grant"] as const,
  ...["unusable_redirect_uri", "unusable_keys"] as const,
]);

/**
 * The page of a problem. One text for every network failure: told apart, a refused private address and a closed port
 * would let a stranger map this server's network (SSRF as an oracle). The log has the difference.
 */
function clientDocumentPage(reason: ClientDocumentProblem | DocumentProblem): Response {
  return deadEndPage(
    publicFaults.has(reason)
      ? deadEnd(
        "This client's metadata cannot be used",
        `Its client ID is a URL, and the metadata published there breaks a rule: ${reason}. Only the publisher of the client can correct this. Send them this message.`,
        400,
      )
      : deadEnd(
        "This client could not be looked up",
        "Its client ID is a URL, and we could not fetch the metadata published there. Try again in a minute. If the problem persists, tell the operator of this server: the log gives the reason. A server without internet access can let clients register instead.",
        400,
      ),
  );
}

/**
 * Says what is wrong with the request, and shows where the redirect leads without following it: otherwise this server
 * would be an open redirector.
 */
function refusedRequestPage({ name, origin, id }: Client, problem: string, location: string): Response {
  const title = "This request cannot be granted";
  const domain = origin === "metadata_document" ? new URL(id).host : null; // where its metadata is published
  const whence = domain === null
    ? html`, which registered itself under that name,`
    : html`, published by <strong>${domain}</strong>,`;
  return pageResponse({
    title,
    status: 400,
    body: html`
      <h1>${title}</h1>
      <p><strong>${name}</strong>${whence} sent a request that this server refuses: ${problem}.</p>
      <p>No user has approved this client here. If you did not just come from it, close this page.</p>
      <p><a href="${location}">Go back to ${new URL(location).host || (domain ?? name)}</a></p>
    `,
  });
}

/** The page where a user decides, the decision, and the authorization code that it yields. */
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
    if (request.method !== "POST") return wrongMethodPage(issuer, "GET", "POST");
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
async function signedInFor(options: InteractionOptions, waiting: Pending, request: Request): Promise<SignedIn | null> {
  const signedIn = await options.browsers.signedIn(request);
  return signedIn !== null && signedIn.confirmedAt >= waiting.request.signInAfter ? signedIn : null;
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
  const at = waiting.request.signInAfter;
  return { account, signedInAt: at, confirmedAt: at, byCompany: account.company !== null };
}

interface Decision {
  readonly pending: Pending;
  readonly signedIn: SignedIn;
  readonly peer: Peer;
}

/** Carries the decision out; `null` when the same page was answered a moment ago. */
async function decide(options: InteractionOptions, decision: Decision, form: URLSearchParams) {
  const { pending, signedIn } = decision;
  const chosen = form.get("decision");
  if (chosen === "link") return await linkFirst(options, decision);
  if (chosen !== "allow") return await answer(options, decision, form, null);
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
function limitOf({ directories: known = [] }: InteractionOptions, form: URLSearchParams, scopes: readonly string[]) {
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
async function repeatDecision(options: InteractionOptions, browser: Browser, form: URLSearchParams) {
  const handle = form.get("request") ?? "";
  const request = (await authorizationRequests.read(options.storage, hashSecret(handle)))?.value;
  if (request === undefined || !browser.hashes.includes(request.browserHash)) return null;
  return request.answered?.decisionHash === decisionHash(form) ? decisionResponse(options, handle, request) : null;
}

function decisionHash(form: URLSearchParams): string {
  const parts = ["account", "proof", "decision"].map((name) => form.get(name));
  return hashSecret(JSON.stringify([...parts, ...form.getAll("scope").sort(), ...form.getAll("directory").sort()]));
}

// * The page where a user decides what a client may do.

/** The consent page of a waiting request. */
async function showConsent(
  options: InteractionOptions,
  waiting: Waiting,
  { account }: SignedIn,
  { problem, ticked, cookies = [] }: {
    readonly problem?: string;
    /** Which boxes are ticked; all of them at first. */
    readonly ticked?: readonly string[];
    readonly cookies?: readonly string[];
  } = {},
): Promise<Response> {
  const { client, request, handle } = waiting;
  const { lifetimes, servicenow, directories = [] } = options;
  const { redirectUri, resource } = request;
  const scopes = grantableScopes(request.scopes, account);
  const paths = pathsOf(options.issuer);
  const workspace = asksForFiles(scopes) ? options.workspaceOf?.(account.id) : undefined;
  const servicenowAccount = servicenow === undefined || !scopes.some((name) => name.startsWith("servicenow:"))
    ? null
    : await servicenow.instance.status(account.id);
  const { name, caution } = destination(redirectUri, client);
  const choices = scopeCatalogue.filter((scope) => scopes.includes(scope.name));
  const beyond = scopeCatalogue.filter(({ name }) => request.scopes.includes(name) && !scopes.includes(name));
  const title = `${client.name} wants access`;
  const form = html`
    ${noDefaultButton}
    <fieldset>
      <legend>This lets it</legend>
      ${choices.map(({ name, words }) =>
        choice({ field: "scope", value: name, words, isTicked: (ticked ?? scopes).includes(name) })
      )}
      ${beyond.length > 0 &&
        html`<p class="hint">Your groups do not let you allow this: ${
          beyond.map(({ words }) => words).join("; ")
        }.</p>`}
    </fieldset>
    ${directories.length > 0 && asksForFiles(scopes) && html`
      <fieldset>
        <legend>In these folders</legend>
        ${directories.map((directory) => choice({ field: "directory", value: directory, words: directory }))}
      </fieldset>
    `}
    <div class="actions">
      ${choices.length > 0 && html`<button type="submit" name="decision" value="allow">Allow</button>`}
      <button type="submit" name="decision" value="deny" class="plain">Deny</button>
    </div>
  `;
  return pageResponse({
    title,
    formsLeave: true,
    cookies,
    body: html`
      <h1>${title}</h1>
      ${problem !== undefined && html`<p class="note bad" role="alert">${problem}</p>`}
      ${caution}
      ${factList([
        ["Client", `“${client.name}”`, html`<span class="quiet">${identityFact(client)}</span>`],
        ["Redirects to", mono(name)],
        ["Workspace", workspace === undefined ? null : mono(workspace)],
        [
          "Account",
          account.displayName,
          html`<a href="${paths.signIn}?${new URLSearchParams({ request: handle }).toString()}">Not you?</a>`,
        ],
        ["ServiceNow account", servicenowAccount && accountWords(servicenowAccount)],
      ])}
      ${consentForm(options, waiting, account, form)}
      ${servicenowAccount !== null && servicenowAccount.state !== "linked" &&
        consentForm(options, waiting, account, linkOffer(servicenow?.instance.origin ?? ""))}
      <p class="hint"><a href="${paths.grants}">Revoke anytime</a></p>
      <details>
        <summary>Details</summary>
        ${factList([
          ["Access to", mono(resource)],
          ["Scopes", mono(choices.map((scope) => scope.name).join(" "))],
          ["Access lasts", lifetimeWords(lifetimes, client)],
        ])}
      </details>
    `,
  });
}

/** The offer to link an account before the decision: the application acts at the instance as the person. */
function linkOffer(origin: string): Html {
  return html`
    <p class="note plain">To use ServiceNow, the client needs your account at
      <strong class="mono">${new URL(origin).host}</strong>. You sign in there and come back here.</p>
    <div class="actions">
      <button type="submit" name="decision" value="link" class="plain">Link your ServiceNow account first</button>
    </div>
  `;
}

/** A form about a waiting request, which proves that it was shown to this user. */
function consentForm(options: InteractionOptions, waiting: Waiting, account: Account, shown: Html): Html {
  const proof = proofOf(options, waiting, account);
  const hidden = { request: waiting.handle, account: account.id, proof };
  return postForm(pathsOf(options.issuer).consent, Object.entries(hidden), shown);
}

/** Proof, in the consent page, that it was shown to this user for this request. */
function proofOf({ secrets }: InteractionOptions, { handle, request }: Waiting, account: Account): string {
  const parts = [handle, request.browserHash, account.id, account.credentialHash];
  return secrets.authenticate("consent-page", parts.join(" "));
}

/** Whether these scopes lead to files. */
function asksForFiles(scopes: readonly string[]): boolean {
  return scopes.some((name) => name.startsWith("files:"));
}

/** What of the requested scopes the person may grant, as their groups are now. */
function grantableScopes(requested: readonly string[], { mayGrant }: Account): readonly string[] {
  return mayGrant === null ? requested : requested.filter((name) => mayGrant.has(name));
}

function choice({ field, value, words, isTicked = true }: {
  readonly field: "scope" | "directory";
  readonly value: string;
  readonly words: string;
  readonly isTicked?: boolean;
}): Html {
  return html`
    <label class="scope">
      <input type="checkbox" name="${field}" value="${value}" ${isTicked && html`checked`}>
      <span>${words}</span>
    </label>
  `;
}

/** Who vouches for the client's name: no one, the operator, or the domain of its metadata. */
function identityFact({ origin, id }: Client): Html | string {
  switch (origin) {
    case "registered":
      return "Name not verified";
    case "operator":
      return "Added by the operator";
    case "metadata_document":
      return html`Published by <strong>${new URL(id).host}</strong>`;
  }
}

/** Where the answer goes, and the one caution that fits it. */
function destination(redirectUri: string, client: Client): { readonly name: string; readonly caution: Html } {
  const target = new URL(redirectUri);
  const application = nativeApplicationOf(redirectUri);
  if (target.protocol !== "https:") {
    return {
      name: application === null ? redirectTarget(redirectUri) : `${application} on this device`,
      caution: html`<p class="note plain">Only continue if you started this: any local program could ask.</p>`,
    };
  }
  return {
    name: target.host,
    caution: client.origin === "registered"
      ? html`
        <p class="note warn">Only continue if you started this: <strong>${target.host}</strong> gets this access.</p>
      `
      : html`<p class="note plain">Only continue if you started this.</p>`,
  };
}

function accountWords(status: ServicenowStatus): string {
  return status.state === "linked"
    ? `${status.account.name} (${status.account.userName})`
    : "Not linked yet: link it before you decide, or later.";
}

/** How long access lasts: at most, and without use. A client that cannot renew it has it for as long as one token. */
function lifetimeWords(lifetimes: Lifetimes, client: Client): string {
  if (!client.grantTypes.includes("refresh_token")) {
    return `Up to ${durationWords(lifetimes.accessTokenLifetimeSeconds)}`;
  }
  const [most, unused] = [refreshTokenLifetimeSeconds, refreshIdleLifetimeSeconds].map(durationWords);
  return `Up to ${most}, or ${unused} without use`;
}
