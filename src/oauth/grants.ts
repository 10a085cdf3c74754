/** `/oauth/grants` and `/oauth/sign-out`: lists and revokes a signed-in user's grants, and signs out. */
import type { Log } from "../lib/log.ts";
import type { Storage } from "../storage/mod.ts";
import { clients, type Grant, grants, operatorTokens, revokeGrant, subjectGrants } from "./records.ts";
import { type OperatorTokenSummary, summariseToken } from "./operator_token.ts";
import { type Account, holderOf, type UserDirectory } from "./manage_users.ts";
import { durationWords } from "../lib/time.ts";
import { dateAndTime, type Html, html, pageResponse, seeOther } from "../lib/page.ts";
import { scopeCatalogue } from "../lib/scopes.ts";
import type { ServicenowStatus } from "./servicenow_port.ts";
import { type Browser, csrfToken, readOwnForm } from "./browser_sessions.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { type InteractionOptions, pathsOf, showSignIn } from "./interaction.ts";
import { errorPage, methodNotAllowedPage } from "./error_page.ts";

/** Grants, and as many tokens, that are read for one page. */
const maxRead = 1_000;

/** How far the name of a client can be trusted: as it says itself, as the owner of a domain says, or the operator. */
export type Vouching =
  | { readonly by: "none" }
  | { readonly by: "domain"; readonly domain: string }
  | { readonly by: "operator" };

/** A grant as lists show it. */
export interface ListedGrant
  extends
    Pick<Grant, "id" | "subject" | "clientId" | "clientName" | "redirectHost" | "scopes" | "createdAt" | "address"> {
  /** When it was last used to get a token. */
  readonly renewedAt: number;
}

/** Grants and command-line tokens, for the Access page and the console. */
export interface AccessList {
  readonly grants: readonly ListedGrant[];
  readonly tokens: readonly OperatorTokenSummary[];
  /** There are more than are listed. */
  readonly isCut: boolean;
}

/** The text, if it has the form of an id of ours. */
export function idIn(text: string | null): string | null {
  return text !== null && /^[0-9a-f]{32}$/.test(text) ? text : null;
}

/** Live grants and tokens of a user, or of everyone (`null`), newest first. */
export async function listAccess(
  { storage, users }: { readonly storage: Storage; readonly users: UserDirectory },
  userId: string | null,
): Promise<AccessList> {
  const found = await storedGrantsOf(storage, userId);
  const subjects = foundOnce(users);
  const holders = await Promise.all(found.map((grant) => holderOf(subjects, grant)));
  const living = found.filter((_, index) => holders[index] !== null);
  const tokens = await tokensOf({ storage, users }, userId);
  return {
    grants: living.map((grant) => ({ ...grant, renewedAt: grant.refresh?.lastUsedAt ?? grant.createdAt })).sort((
      a,
      b,
    ) => b.renewedAt - a.renewedAt || (a.id < b.id ? 1 : -1)),
    tokens,
    isCut: found.length >= maxRead,
  };
}

/** Looks each user up once, however many grants they have. */
function foundOnce(users: UserDirectory): Pick<UserDirectory, "find"> {
  const found = new Map<string, ReturnType<UserDirectory["find"]>>();
  return {
    find(id) {
      const account = found.get(id) ?? users.find(id);
      found.set(id, account);
      return account;
    },
  };
}

async function storedGrantsOf(storage: Storage, userId: string | null): Promise<Grant[]> {
  if (userId === null) return (await grants.list(storage, { limit: maxRead })).map(({ value }) => value);
  const index = await subjectGrants.list(storage, { below: [userId], limit: maxRead });
  const stored = await Promise.all(index.map(({ value }) => grants.read(storage, value.grantId)));
  return stored.flatMap((entry) => entry === null ? [] : [entry.value]);
}

/** Who vouches for the names of these clients, by their ids. */
export async function vouchingFor(
  storage: Storage,
  clientIds: readonly string[],
): Promise<ReadonlyMap<string, Vouching>> {
  const ids = [...new Set(clientIds)];
  return new Map(
    await Promise.all(
      ids.map(async (id) => [id, vouchingOf(id, (await clients.read(storage, id))?.value.origin)] as const),
    ),
  );
}

function vouchingOf(clientId: string, origin: string | undefined): Vouching {
  if (origin === "operator") return { by: "operator" };
  const url = origin === "registered" ? null : URL.parse(clientId);
  return url?.protocol === "https:" ? { by: "domain", domain: url.host } : { by: "none" };
}

/** The living tokens that the command line made for a user, or for all, newest first. */
async function tokensOf(
  { storage, users }: { readonly storage: Storage; readonly users: UserDirectory },
  userId: string | null,
): Promise<OperatorTokenSummary[]> {
  const stored = await operatorTokens.list(storage, { limit: maxRead });
  const own = stored.flatMap(({ value }) => userId === null || value.userId === userId ? [value] : []);
  const holders = await Promise.all(own.map((token) => users.holderOfToken(token)));
  return own.filter((_, index) => holders[index] !== null).map(summariseToken)
    .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
}

/** What to revoke, and who asks; `of` is the user whose connections they may revoke, `null` for anyone's. */
interface EndRequest {
  readonly grantId: string | null;
  readonly tokenId: string | null;
  readonly of: string | null;
  readonly by: string;
  readonly address: string;
}

/** Ends a grant or a token at once; `false` when there is none that the person may end. */
export async function endAccess(
  { storage, log }: { readonly storage: Storage; readonly log: Log },
  { grantId, tokenId, of, by, address }: EndRequest,
): Promise<boolean> {
  const grant = grantId === null ? null : await grants.read(storage, grantId);
  if (grantId !== null && grant !== null && (of === null || grant.value.subject === of)) {
    await revokeGrant(storage, grantId);
    const { clientId: client, subject: user } = grant.value;
    log.write("audit", "grant_revoked", { ...whoEnded(user, by), grant: grantId, client, address });
    return true;
  }
  const token = tokenId === null ? null : await operatorTokens.read(storage, tokenId);
  if (token === null || (of !== null && token.value.userId !== of)) return false;
  if (await storage.consume(token.key) === null) return false;
  log.write("audit", "operator_token_revoked", { ...whoEnded(token.value.userId, by), token: tokenId, address });
  return true;
}

function whoEnded(user: string, by: string): { reason: string; user: string; by?: string } {
  return user === by ? { reason: "by_user", user } : { reason: "by_administrator", user, by };
}

function scopeList(scopes: readonly string[]): Html {
  const words = scopeCatalogue.filter(({ name }) => scopes.includes(name)).map((scope) => scope.words);
  return html`<ul class="plain">${words.map((text) => html`<li>${text}</li>`)}</ul>`;
}

function grantItem(grant: Grant, revoke: Html): Html {
  const renewed = grant.refresh?.lastUsedAt ?? grant.createdAt;
  return html`
    <li class="grant">
      <h2 id="grant-${grant.id}">${grant.clientName}</h2>
      ${scopeList(grant.scopes)}
      <p class="quiet">Allowed on ${dateAndTime(grant.createdAt)}${grant.redirectHost !== null &&
        html`, via <span class="mono">${grant.redirectHost}</span>`}.<br>
        Last requested a token on ${dateAndTime(renewed)}${grant.address !== undefined &&
          html`, from <span class="mono">${grant.address}</span>`}.</p>
      ${revoke}
    </li>
  `;
}

function tokenItem(token: OperatorTokenSummary, revoke: Html): Html {
  return html`
    <li class="grant">
      <h2 id="token-${token.id}">${token.name === "" ? "Unnamed token" : token.name}</h2>
      ${scopeList(token.scopes)}
      <p class="quiet">Created at the command line on ${dateAndTime(token.createdAt)}.<br>
        Expires on ${dateAndTime(token.expiresAt)}.</p>
      ${revoke}
    </li>
  `;
}

function servicenowLine(path: string, status: ServicenowStatus): Html {
  return status.state === "linked"
    ? html`<p>Your ServiceNow account is ${status.account.name} (${status.account.userName}).
      <a href="${path}">Change it, or unlink it</a></p>`
    : html`<p>No working ServiceNow account is linked. <a href="${path}">Link your ServiceNow account</a></p>`;
}

/** The page, from the grant `after` on: a later part of a list that is too long for one. */
async function grantsPage(
  options: InteractionOptions,
  { browser, account, after, hasRevoked }: {
    readonly browser: Browser;
    readonly account: Account;
    readonly after: string | null;
    readonly hasRevoked: boolean;
  },
): Promise<Response> {
  const paths = pathsOf(options.issuer);
  const csrf = csrfToken(options.secrets, browser);
  const { shown, next } = await grantsOf(options, account.id, after);
  const tokens = after === null ? await tokensOf(options, account.id) : [];
  const servicenow = await options.servicenow?.instance.status(account.id);
  const nothing = after === null ? "No application has access." : "This is the end of the list.";
  const revokeForm = (field: "grant" | "token", id: string): Html =>
    html`
      <form method="post" action="${paths.grants}">
        <input type="hidden" name="csrf" value="${csrf}">
        <input type="hidden" name="${field}" value="${id}">
        <button type="submit" class="plain small" aria-describedby="${field}-${id}">Revoke</button>
      </form>
    `;
  return pageResponse({
    title: "Access",
    body: html`
      <h1>Access</h1>
      <p class="quiet">Signed in as <strong>${account.displayName}</strong>. Revoking takes effect at once.</p>
      ${hasRevoked && html`<p class="note good" role="status">Access revoked.</p>`}
      ${shown.length === 0 && next === null
        ? html`<p>${nothing}</p>`
        : html`<ul class="plain">${shown.map((grant) => grantItem(grant, revokeForm("grant", grant.id)))}</ul>`}
      ${next !== null && html`<p><a href="${paths.grants}?after=${next}">More applications</a></p>`}
      ${shown.length > 0 &&
        html`<p class="hint">An access token lasts ${durationWords(options.lifetimes.accessTokenLifetimeSeconds)}:
        an application in use requests one at least that often.</p>`}
      ${after !== null && html`<p><a href="${paths.grants}">Back to the start of the list</a></p>`}
      ${options.company && html`<p>Your account at <span class="mono">${new URL(options.company.issuer).host}</span>:
        ${
        account.company === null
          ? html`not linked. <a href="${paths.companyLink}">Link your company account</a>`
          : "linked"
      }</p>`}
      ${servicenow !== undefined && servicenowLine(paths.servicenowLink, servicenow)}
      ${tokens.length > 0 && html`
        <h2>Tokens for scripts</h2>
        <ul class="plain">${tokens.map((token) => tokenItem(token, revokeForm("token", token.id)))}</ul>
      `}
      <form method="post" action="${paths.signOut}">
        <input type="hidden" name="csrf" value="${csrf}">
        <div class="actions"><button type="submit" class="plain">Sign out</button></div>
      </form>
      <p class="hint"><a href="${paths.home}">How to connect an application</a></p>
    `,
  });
}

function signedOutPage(signInPath: string, cookie: string): Response {
  return pageResponse({
    title: "Signed out",
    cookies: [cookie],
    body: html`
      <h1>You are signed out</h1>
      <p>Applications keep the access you allowed. <a href="${signInPath}">Sign in</a> to revoke it.</p>
    `,
  });
}

const grantsPerPage = 100;

/** A part of the living grants of a user, newest first within it, and where the next part begins. */
async function grantsOf(
  { storage, users }: InteractionOptions,
  userId: string,
  after: string | null,
): Promise<{ readonly shown: Grant[]; readonly next: string | null }> {
  const index = await subjectGrants.list(storage, {
    below: [userId],
    limit: grantsPerPage + 1,
    ...(after === null ? {} : { after: subjectGrants.key(userId, after) }),
  });
  const part = index.slice(0, grantsPerPage);
  const stored = await Promise.all(part.map(({ value }) => grants.read(storage, value.grantId)));
  const credentialHash = (await users.find(userId))?.credentialHash;
  const shown = stored.flatMap((entry) => entry === null ? [] : [entry.value])
    .filter((grant) => grant.credentialHash === credentialHash)
    .sort((a, b) => b.createdAt - a.createdAt);
  return { shown, next: index.length > grantsPerPage ? part.at(-1)?.value.grantId ?? null : null };
}

/** Says in the address of the page that this browser has just revoked something; no link from elsewhere can say so. */
function revokedMark({ secrets }: InteractionOptions, browser: Browser): string {
  return secrets.authenticate("revoked-note", browser.hash);
}

export function createGrantsEndpoint(options: InteractionOptions): Endpoint {
  const { browsers, issuer } = options;
  const paths = pathsOf(issuer);
  return async (request, peer) => {
    const browser = browsers.identify(request);
    const signedIn = await browsers.signedIn(request);
    if (request.method === "GET" && options.hasConsole) return seeOther(`${paths.home}console/connections`);
    if (request.method === "GET") {
      if (signedIn === null) {
        return await showSignIn(options, { kind: "account", browser, next: "grants" }, { cookies: browser.cookies });
      }
      const { searchParams } = new URL(request.url);
      const after = idIn(searchParams.get("after"));
      const hasRevoked = searchParams.get("revoked") === revokedMark(options, browser);
      return await grantsPage(options, { browser, account: signedIn.account, after, hasRevoked });
    }
    if (request.method !== "POST") return methodNotAllowedPage(issuer, "GET", "POST");
    const form = await readOwnForm(options, request, browser);
    if (!form.ok) return errorPage(issuer, form.error);
    if (signedIn === null) return seeOther(paths.grants);
    const isRevoked = await endAccess(options, {
      grantId: idIn(form.value.get("grant")),
      tokenId: idIn(form.value.get("token")),
      of: signedIn.account.id,
      by: signedIn.account.id,
      address: peer.address,
    });
    return seeOther(isRevoked ? `${paths.grants}?revoked=${revokedMark(options, browser)}` : paths.grants);
  };
}

export function createSignOutEndpoint(options: InteractionOptions): Endpoint {
  const { browsers, log, issuer } = options;
  return async (request, peer) => {
    if (request.method !== "POST") return methodNotAllowedPage(issuer, "POST");
    const form = await readOwnForm(options, request, browsers.identify(request));
    if (!form.ok) return errorPage(issuer, form.error);
    const signedIn = await browsers.signedIn(request);
    const cookie = await browsers.signOut(request);
    log.write("audit", "sign_out", { outcome: "signed_out", user: signedIn?.account.id, address: peer.address });
    return signedOutPage(pathsOf(issuer).grants, cookie);
  };
}
