/** `/servicenow/link`: a signed-in user links an account of the ServiceNow instance, renews the link, or ends it. */
import { csrfToken, foreignForm, isCsrfToken, readBrowserForm } from "./own_form.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { pathsOf, showSignIn } from "./interaction.ts";
import { errorPage, methodNotAllowedPage } from "./error_page.ts";
import { seeOther } from "../lib/page.ts";
import { goToInstancePage, servicenowLinkPage } from "./servicenow_page.ts";
import type { InstanceOptions } from "./servicenow_sign_in.ts";

export function createServicenowLinkEndpoint(options: InstanceOptions): Endpoint {
  const { instance, browsers, secrets, limits, log, issuer } = options;
  const { servicenowLink, grants } = pathsOf(issuer);
  return async (request, peer) => {
    if (request.method !== "GET" && request.method !== "POST") return methodNotAllowedPage("GET", "POST");
    const browser = browsers.identify(request);
    const signedIn = await browsers.signedIn(request);
    if (signedIn === null) {
      const purpose = { kind: "account", browser, next: "servicenowLink" } as const;
      return request.method === "GET"
        ? await showSignIn(options, purpose, { cookies: browser.cookies })
        : seeOther(servicenowLink);
    }
    const { account } = signedIn;
    if (request.method === "GET") {
      return servicenowLinkPage({
        action: servicenowLink,
        grantsPath: grants,
        csrf: csrfToken(secrets, browser),
        userName: account.displayName,
        instanceOrigin: instance.origin,
        health: (await instance.health(account.id))[0] ?? null,
        cookies: browser.cookies,
      });
    }
    const form = await readBrowserForm(request, limits);
    if (!form.ok) return errorPage(form.error);
    if (!isCsrfToken(secrets, browser, form.value.get("csrf") ?? "")) return errorPage(foreignForm(browser));
    if (form.value.get("action") === "unlink") {
      const unlinked = await instance.unlink(account.id);
      log.write("audit", "servicenow_unlink", { user: account.id, unlinked, address: peer.address });
      return seeOther(servicenowLink);
    }
    const purpose = { kind: "link", subject: account.id } as const;
    const { url } = await instance.begin({ browser: browser.hash, purpose });
    return goToInstancePage(url);
  };
}
