/** `/oauth/consent`: the page where a user decides, the decision, and the authorization code that it yields. */
import type { Lifetimes, ServicenowStatus } from "./context.ts";
import { refreshIdleLifetimeSeconds, refreshTokenLifetimeSeconds } from "./token.ts";
import { type Browser, readBrowserForm, type SignedIn } from "./browser_sessions.ts";
import {
  errorPage,
  factList,
  findPending,
  mono,
  pathsOf,
  postForm,
  showSignIn,
  wrongMethodPage,
} from "./interaction.ts";
import type { InteractionOptions, Pending, Waiting } from "./interaction.ts";
import { equalInConstantTime, hashSecret, randomId } from "../lib/secrets.ts";
import { goToInstancePage } from "./servicenow_sign_in.ts";
import {
  authorizationCodeLifetimeSeconds,
  authorizationCodes,
  type AuthorizationRequest,
  authorizationRequests,
  type Client,
  clients,
  clientStillThere,
  conflict,
  retryOnConflict,
  unchanged,
  unusedClientId,
  waitingListOf,
} from "./records.ts";
import type { Batch } from "../storage/mod.ts";
import { type Html, html, noDefaultButton, pageResponse, redirectResponse } from "../lib/page.ts";
import { locationOf, nativeApplicationOf, redirectTarget } from "./redirect_uri.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import { logStep } from "./exchange.ts";
import type { Account } from "./manage_users.ts";
import { scopeCatalogue } from "../lib/principal.ts";
import { durationWords } from "../lib/time.ts";

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
export async function showConsent(
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
