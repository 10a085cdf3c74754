/** `/oauth/grants` and `/oauth/sign-out`: what a signed-in person allowed, taking it back, and leaving. */
import { readBrowserForm } from "./browser_form.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { csrfToken, foreignForm, isCsrfToken } from "./csrf.ts";
import { type InteractionDeps, pathsOf, showSignIn } from "./interaction.ts";
import { errorPage, methodNotAllowedPage } from "./pages/error_page.ts";
import { grantsPage, signedOutPage } from "./pages/grants_page.ts";
import { seeOther } from "../lib/page.ts";
import { type Grant, grants, revokeGrant, subjectGrants } from "./records/grant.ts";

const maxShown = 200;

/** The living grants of a user, newest first. */
async function grantsOf({ storage, users }: InteractionDeps, userId: string): Promise<Grant[]> {
  const index = await subjectGrants.list(storage, { below: [userId], limit: maxShown });
  const stored = await Promise.all(index.map(({ value }) => grants.read(storage, value.grantId)));
  const credentialHash = (await users.find(userId))?.credentialHash;
  return stored.flatMap((entry) => entry === null ? [] : [entry.value])
    .filter((grant) => grant.credentialHash === credentialHash)
    .sort((a, b) => b.createdAt - a.createdAt);
}

/** Builds the grants page. */
export function createGrantsEndpoint(deps: InteractionDeps): Endpoint {
  const { storage, secrets, browsers, limits, log, issuer } = deps;
  const paths = pathsOf(issuer);
  return async (request, peer) => {
    const browser = browsers.identify(request);
    const signedIn = await browsers.signedIn(request);
    if (request.method === "GET") {
      if (signedIn === null) {
        return await showSignIn(deps, { kind: "account", browser, next: "grants" }, { cookies: browser.cookies });
      }
      return grantsPage({
        action: paths.grants,
        signOutAction: paths.signOut,
        csrf: csrfToken(secrets, browser),
        userName: signedIn.account.displayName,
        grants: await grantsOf(deps, signedIn.account.id),
      });
    }
    if (request.method !== "POST") return methodNotAllowedPage("GET", "POST");
    const form = await readBrowserForm(request, limits);
    if (!form.ok) return errorPage(form.error);
    if (!isCsrfToken(secrets, browser, form.value.get("csrf") ?? "")) return errorPage(foreignForm(browser));
    const grantId = form.value.get("grant") ?? "";
    const grant = signedIn === null || grantId === "" ? null : await grants.read(storage, grantId);
    // Somebody else's grant looks like one that is gone.
    if (grant !== null && grant.value.subject === signedIn?.account.id) {
      await revokeGrant(storage, grantId);
      const { clientId, subject } = grant.value;
      const fields = { grant: grantId, user: subject, client: clientId, address: peer.address };
      log.write("audit", "grant_revoked", { reason: "by_user", ...fields });
    }
    return seeOther(paths.grants);
  };
}

/** Builds the sign-out endpoint. */
export function createSignOutEndpoint({ secrets, browsers, limits, log, issuer }: InteractionDeps): Endpoint {
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
