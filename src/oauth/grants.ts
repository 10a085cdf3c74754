/** `/oauth/grants` and `/oauth/sign-out`: lists and revokes a signed-in user's grants, and signs out. */
import type { Log } from "../lib/log.ts";
import type { Storage } from "../storage/mod.ts";
import { type Grant, grants, operatorTokens, revokeGrant, subjectGrants } from "./records.ts";
import { type OperatorTokenSummary, summariseToken } from "./access_token.ts";
import { type Account, holderOf } from "./manage_users.ts";
import { durationWords } from "../lib/time.ts";
import { dateAndTime, type Html, html, pageResponse, seeOther } from "../lib/page.ts";
import { scopeCatalogue } from "../lib/principal.ts";
import type { ServicenowStatus } from "./context.ts";
import { type Browser, csrfToken, readOwnForm } from "./browser_sessions.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { errorPage, pathsOf, postForm, showSignIn, wrongMethodPage } from "./interaction.ts";
import type { InteractionOptions } from "./interaction.ts";

/** Grants, and as many tokens, that are read for one list. */
const maxRead = 1_000;

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

/** Live grants and tokens of a user, or of everyone (`null`), newest first. */
export async function listAccess(
  { storage, users }: Pick<InteractionOptions, "storage" | "users">,
  userId: string | null,
): Promise<AccessList> {
  const found = await storedGrantsOf(storage, userId);
  // Each user is looked up once, however many grants they have.
  const subjects = [...new Set(found.map(({ subject }) => subject))];
  const accounts = new Map(await Promise.all(subjects.map(async (id) => [id, await users.find(id)] as const)));
  const living = found.filter((grant) => holderOf(accounts.get(grant.subject) ?? null, grant) !== null);
  const renewedAtOf = ({ refresh, renewedAt, createdAt }: Grant) => refresh?.lastUsedAt ?? renewedAt ?? createdAt;
  const listed = living.map((grant) => ({ ...grant, renewedAt: renewedAtOf(grant) }));
  const stored = await operatorTokens.list(storage, { limit: maxRead });
  const own = stored.flatMap(({ value }) => userId === null || value.userId === userId ? [value] : []);
  const holders = await Promise.all(own.map((token) => users.holderOfToken(token)));
  return {
    grants: newestFirst(listed, ({ renewedAt }) => renewedAt),
    tokens: newestFirst(
      own.filter((_, index) => holders[index] !== null).map(summariseToken),
      ({ createdAt }) => createdAt,
    ),
    isCut: found.length >= maxRead,
  };
}

function newestFirst<T extends { readonly id: string }>(list: readonly T[], timeOf: (item: T) => number): T[] {
  return list.toSorted((a, b) => timeOf(b) - timeOf(a) || (a.id < b.id ? 1 : -1));
}

async function storedGrantsOf(storage: Storage, userId: string | null): Promise<Grant[]> {
  if (userId === null) return (await grants.list(storage, { limit: maxRead })).map(({ value }) => value);
  const index = await subjectGrants.list(storage, { below: [userId], limit: maxRead });
  const stored = await Promise.all(index.map(({ value }) => grants.read(storage, value.grantId)));
  return stored.flatMap((entry) => entry === null ? [] : [entry.value]);
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
  const noteEnd = (event: string, user: string, fields: Record<string, string>): true => {
    const who = user === by ? { reason: "by_user", user } : { reason: "by_administrator", user, by };
    log.write("audit", event, { ...who, ...fields, address });
    return true;
  };
  const grant = await grants.read(storage, grantId ?? "");
  if (grant !== null && (of === null || grant.value.subject === of)) {
    const { id, clientId: client, subject } = grant.value;
    await revokeGrant(storage, id);
    return noteEnd("grant_revoked", subject, { grant: id, client });
  }
  const token = await operatorTokens.read(storage, tokenId ?? "");
  if (token === null || (of !== null && token.value.userId !== of)) return false;
  if (await storage.consume(token.key) === null) return false;
  return noteEnd("operator_token_revoked", token.value.userId, { token: token.value.id });
}

function grantFacts({ createdAt, redirectHost, renewedAt, address }: ListedGrant): Html {
  return html`Allowed on ${dateAndTime(createdAt)}${
    redirectHost !== null &&
    html`, via <span class="mono">${redirectHost}</span>`
  }.<br>
    Last requested a token on ${dateAndTime(renewedAt)}${
    address !== undefined &&
    html`, from <span class="mono">${address}</span>`
  }.`;
}

function tokenFacts({ createdAt, expiresAt }: OperatorTokenSummary): Html {
  return html`Created at the command line on ${dateAndTime(createdAt)}.<br>
    Expires on ${dateAndTime(expiresAt)}.`;
}

function servicenowLine(path: string, status: ServicenowStatus): Html {
  return status.state === "linked"
    ? html`<p>Your ServiceNow account is ${status.account.name} (${status.account.userName}).
      <a href="${path}">Change it, or unlink it</a></p>`
    : html`<p>No working ServiceNow account is linked. <a href="${path}">Link your ServiceNow account</a></p>`;
}

/** What has access for this person, where there is no console. */
async function grantsPage(options: InteractionOptions, browser: Browser, account: Account): Promise<Response> {
  const paths = pathsOf(options.issuer);
  const csrf = csrfToken(options.secrets, browser);
  const { grants: shown, tokens, isCut } = await listAccess(options, account.id);
  const servicenow = await options.servicenow?.instance.status(account.id);
  /** An entry of the list, with the button that revokes it. */
  const item = (field: "grant" | "token", { id, scopes }: Pick<Grant, "id" | "scopes">, name: string, facts: Html) => {
    const words = scopeCatalogue.filter((scope) => scopes.includes(scope.name)).map((scope) => scope.words);
    const button = html`<button type="submit" class="plain small" aria-describedby="${field}-${id}">Revoke</button>`;
    return html`
      <li class="grant">
        <h2 id="${field}-${id}">${name}</h2>
        <ul class="plain">${words.map((text) => html`<li>${text}</li>`)}</ul>
        <p class="quiet">${facts}</p>
        ${postForm(paths.grants, [["csrf", csrf], [field, id]], button)}
      </li>
    `;
  };
  return pageResponse({
    title: "Access",
    body: html`
      <h1>Access</h1>
      <p class="quiet">Signed in as <strong>${account.displayName}</strong>. Revoking takes effect at once.</p>
      ${shown.length === 0
        ? html`<p>No client has access.</p>`
        : html`<ul class="plain">${
          shown.map((grant) => item("grant", grant, grant.clientName, grantFacts(grant)))
        }</ul>`}
      ${isCut && html`<p>There are more: revoke some to see them.</p>`}
      ${shown.length > 0 &&
        html`<p class="hint">An access token lasts ${durationWords(options.lifetimes.accessTokenLifetimeSeconds)}:
        a client in use requests one at least that often.</p>`}
      ${options.company && html`<p>Your account at <span class="mono">${new URL(options.company.issuer).host}</span>:
        ${
        account.company === null
          ? html`not linked. <a href="${paths.companyLink}">Link your company account</a>`
          : "linked"
      }</p>`}
      ${servicenow !== undefined && servicenowLine(paths.servicenowLink, servicenow)}
      ${tokens.length > 0 && html`
        <h2>Tokens for scripts</h2>
        <ul class="plain">${tokens.map((token) =>
          item("token", token, token.name || "Unnamed token", tokenFacts(token))
        )}</ul>
      `}
      ${postForm(
        paths.signOut,
        [["csrf", csrf]],
        html`<div class="actions"><button type="submit" class="plain">Sign out</button></div>`,
      )}
      <p class="hint"><a href="${paths.home}">How to connect a client</a></p>
    `,
  });
}

function signedOutPage(signInPath: string, cookie: string): Response {
  return pageResponse({
    title: "Signed out",
    cookies: [cookie],
    body: html`
      <h1>You are signed out</h1>
      <p>Clients keep the access you allowed. <a href="${signInPath}">Sign in</a> to revoke it.</p>
    `,
  });
}

export function createGrantsEndpoint(options: InteractionOptions): Endpoint {
  const { browsers, issuer } = options;
  const paths = pathsOf(issuer);
  return async (request, { address }) => {
    const browser = browsers.identify(request);
    const signedIn = await browsers.signedIn(request);
    if (request.method === "GET") {
      if (options.hasConsole) return seeOther(`${paths.home}console/connections`);
      return signedIn === null
        ? await showSignIn(options, { kind: "account", browser, next: "grants" }, { cookies: browser.cookies })
        : await grantsPage(options, browser, signedIn.account);
    }
    if (request.method !== "POST") return wrongMethodPage(issuer, "GET", "POST");
    const form = await readOwnForm(options, request, browser);
    if (!form.ok) return errorPage(issuer, form.error);
    if (signedIn !== null) {
      const { id } = signedIn.account;
      const asked = { grantId: form.value.get("grant"), tokenId: form.value.get("token") };
      await endAccess(options, { ...asked, of: id, by: id, address });
    }
    return seeOther(paths.grants);
  };
}

export function createSignOutEndpoint(options: InteractionOptions): Endpoint {
  const { browsers, log, issuer } = options;
  return async (request, peer) => {
    if (request.method !== "POST") return wrongMethodPage(issuer, "POST");
    const form = await readOwnForm(options, request, browsers.identify(request));
    if (!form.ok) return errorPage(issuer, form.error);
    const signedIn = await browsers.signedIn(request);
    const cookie = await browsers.signOut(request);
    log.write("audit", "sign_out", { outcome: "signed_out", user: signedIn?.account.id, address: peer.address });
    return signedOutPage(pathsOf(issuer).grants, cookie);
  };
}
