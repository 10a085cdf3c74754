/** `/oauth/grants` and `/oauth/sign-out`: what has access in a signed-in user's name, revoking it, and leaving. */
import { csrfToken, foreignForm, isCsrfToken, readBrowserForm } from "./own_form.ts";
import type { Browser } from "./browser_sessions.ts";
import { endAccess, idIn, tokensOf } from "./access_list.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { type InteractionOptions, pathsOf, showSignIn } from "./interaction.ts";
import { errorPage, methodNotAllowedPage } from "./error_page.ts";
import { grantsPage, signedOutPage } from "./grants_page.ts";
import { seeOther } from "../lib/page.ts";
import { type Grant, grants, subjectGrants } from "./records/grant.ts";

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
  const { secrets, browsers, limits, issuer } = options;
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
      const { shown, next } = await grantsOf(options, signedIn.account.id, after);
      return grantsPage({
        action: paths.grants,
        signOutAction: paths.signOut,
        homePath: paths.home,
        servicenow: options.servicenow === undefined ? null : {
          path: paths.servicenowLink,
          status: await options.servicenow.instance.status(signedIn.account.id),
        },
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
