/** `/oauth/grants` and `/oauth/sign-out`: what has access in a signed-in user's name, revoking it, and leaving. */
import { csrfToken, foreignForm, isCsrfToken, readBrowserForm } from "./own_form.ts";
import type { Browser } from "./browser_sessions.ts";
import type { Endpoint, Peer } from "../../lib/endpoint.ts";
import { type InteractionOptions, pathsOf, showSignIn } from "./interaction.ts";
import { errorPage, methodNotAllowedPage } from "../pages/error_page.ts";
import { grantsPage, signedOutPage } from "../pages/grants_page.ts";
import { seeOther } from "../../lib/page/page.ts";
import type { OperatorTokenSummary } from "../token/operator_token.ts";
import { type Grant, grants, revokeGrant, subjectGrants } from "../records/grant.ts";
import { operatorTokens } from "../records/operator_token.ts";

const grantsPerPage = 100;
const maxTokensRead = 1_000;

/** The text, if it has the form of an id of ours. */
function idIn(text: string | null): string | null {
  return text !== null && /^[0-9a-f]{32}$/.test(text) ? text : null;
}

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

/** The living tokens that the command line made for a user, newest first. */
async function tokensOf({ storage, users }: InteractionOptions, userId: string): Promise<OperatorTokenSummary[]> {
  const stored = await operatorTokens.list(storage, { limit: maxTokensRead });
  const own = stored.flatMap(({ value }) => value.userId === userId ? [value] : []);
  const areLive = await Promise.all(own.map((token) => users.isLiveToken(token)));
  return own.filter((_, index) => areLive[index]).map(({ tokenHash: _, ...summary }) => summary)
    .sort((a, b) => b.createdAt - a.createdAt);
}

/** Says in the address of the page that this browser has just revoked something; no link from elsewhere can say so. */
function revokedMark({ secrets }: InteractionOptions, browser: Browser): string {
  return secrets.authenticate("revoked-note", browser.hash);
}

export function createGrantsEndpoint(options: InteractionOptions): Endpoint {
  const { secrets, browsers, limits, issuer } = options;
  const paths = pathsOf(issuer);
  return async (request, peer) => {
    const browser = browsers.identify(request);
    const signedIn = await browsers.signedIn(request);
    if (request.method === "GET") {
      if (signedIn === null) {
        return await showSignIn(options, { kind: "account", browser, next: "grants" }, { cookies: browser.cookies });
      }
      const { searchParams } = new URL(request.url);
      const after = idIn(searchParams.get("after"));
      const { shown, next } = await grantsOf(options, signedIn.account.id, after);
      return grantsPage({
        action: paths.grants,
        signOutAction: paths.signOut,
        homePath: paths.home,
        csrf: csrfToken(secrets, browser),
        userName: signedIn.account.displayName,
        grants: shown,
        tokens: after === null ? await tokensOf(options, signedIn.account.id) : [],
        next: next === null ? null : `${paths.grants}?${new URLSearchParams({ after: next })}`,
        isContinued: after !== null,
        tokenSeconds: options.lifetimes.accessTokenLifetimeSeconds,
        hasRevoked: searchParams.get("revoked") === revokedMark(options, browser),
      });
    }
    if (request.method !== "POST") return methodNotAllowedPage("GET", "POST");
    const form = await readBrowserForm(request, limits);
    if (!form.ok) return errorPage(form.error);
    if (!isCsrfToken(secrets, browser, form.value.get("csrf") ?? "")) return errorPage(foreignForm(browser));
    if (signedIn === null) return seeOther(paths.grants);
    const isRevoked = await revoke(options, signedIn.account.id, form.value, peer);
    return seeOther(isRevoked ? `${paths.grants}?revoked=${revokedMark(options, browser)}` : paths.grants);
  };
}

/** Revokes what the form names; `false` when that is not this user's, which looks like one that is gone. */
async function revoke(
  { storage, log }: InteractionOptions,
  userId: string,
  form: URLSearchParams,
  { address }: Peer,
): Promise<boolean> {
  const [grantId, tokenId] = [idIn(form.get("grant")), idIn(form.get("token"))];
  const grant = grantId === null ? null : await grants.read(storage, grantId);
  if (grantId !== null && grant?.value.subject === userId) {
    await revokeGrant(storage, grantId);
    const { clientId: client } = grant.value;
    log.write("audit", "grant_revoked", { reason: "by_user", grant: grantId, user: userId, client, address });
    return true;
  }
  const token = tokenId === null ? null : await operatorTokens.read(storage, tokenId);
  if (token !== null && token.value.userId === userId && await storage.consume(token.key) !== null) {
    log.write("audit", "operator_token_revoked", { reason: "by_user", token: tokenId, user: userId, address });
    return true;
  }
  return false;
}

export function createSignOutEndpoint({ secrets, browsers, limits, log, issuer }: InteractionOptions): Endpoint {
  return async (request, peer) => {
    if (request.method !== "POST") return methodNotAllowedPage("POST");
    const form = await readBrowserForm(request, limits);
    if (!form.ok) return errorPage(form.error);
    const browser = browsers.identify(request);
    if (!isCsrfToken(secrets, browser, form.value.get("csrf") ?? "")) return errorPage(foreignForm(browser));
    const signedIn = await browsers.signedIn(request);
    const cookie = await browsers.signOut(request);
    log.write("audit", "sign_out", { outcome: "signed_out", user: signedIn?.account.id, address: peer.address });
    return signedOutPage(pathsOf(issuer).grants, cookie);
  };
}
