/** `/oauth/sign-in`: checks the passphrase and starts a browser session. */
import { type Browser, isCsrfToken, readBrowserForm } from "./browser_sessions.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import {
  type AccountPage,
  accountPageIn,
  findPending,
  type InteractionOptions,
  pathOfPage,
  pathOfRequest,
  showSignIn,
  type SignInPurpose,
} from "./interaction.ts";
import { errorPage, methodNotAllowedPage } from "./error_page.ts";
import { seeOther } from "../lib/page.ts";
import type { PasswordHasher } from "./password_hash.ts";
import { type PasswordThrottle, verifyPassphrase } from "./verify_passphrase.ts";
import { logStep } from "./refusal.ts";
import { ownerId } from "./records.ts";
import { openSignInLink } from "./set_up.ts";

/** What the endpoint needs besides what all browser endpoints share. */
interface SignInOptions extends InteractionOptions {
  readonly passwords: PasswordHasher;
  readonly throttle: PasswordThrottle;
}

export function createSignInEndpoint(options: SignInOptions): Endpoint {
  const { log, limits, browsers } = options;
  return async (request, peer) => {
    const browser = browsers.identify(request);
    if (request.method === "GET") {
      const { searchParams } = new URL(request.url);
      const code = searchParams.get("link");
      if (code !== null) return await showLinked(options, { browser, code, peer });
      const handle = searchParams.get("request") ?? "";
      const pending = await findPending(options, handle, browser);
      return pending === null
        ? errorPage(browser.isNew ? "cookie_missing" : "request_gone")
        : await showSignIn(options, { kind: "request", waiting: pending }, { asOther: true });
    }
    if (request.method !== "POST") return methodNotAllowedPage("GET", "POST");
    if (options.signInElsewhere !== undefined) return errorPage("sign_in_elsewhere");
    const form = await readBrowserForm(request, limits);
    if (!form.ok) return errorPage(form.error);
    const page = accountPageIn(new URL(request.url).searchParams.get("next")) ?? "grants";
    const purpose = await purposeOf(options, { form: form.value, browser, page });
    if (purpose === null) {
      const reason = browser.isNew ? "cookie_missing" : "request_gone";
      logStep({ log, peer }, "sign_in", { outcome: "refused", reason });
      return errorPage(reason);
    }
    return await checkPassphrase(options, { request, peer, browser, purpose }, form.value);
  };
}

/** A browser that opened a link from the command line signs in without the delays that others cause. */
async function showLinked(
  options: SignInOptions,
  { browser, code, peer }: { readonly browser: Browser; readonly code: string; readonly peer: Peer },
): Promise<Response> {
  const userName = await openSignInLink(options, browser, code);
  const outcome = userName === null ? "refused" : "opened";
  options.log.write("audit", "sign_in_link", {
    outcome,
    ...(userName === null ? { reason: "sign_in_link_invalid" } : { user: userName }),
    address: peer.address,
  });
  if (userName === null) return errorPage("sign_in_link_invalid");
  const purpose = { kind: "account", browser, next: "grants" } as const;
  return await showSignIn(options, purpose, { userName, cookies: browser.cookies });
}

/** `null` for a form that this browser was not sent (login CSRF). */
async function purposeOf(
  options: SignInOptions,
  { form, browser, page }: { form: URLSearchParams; browser: Browser; page: AccountPage },
): Promise<SignInPurpose | null> {
  const csrf = form.get("csrf");
  if (csrf !== null) {
    return isCsrfToken(options.secrets, browser, csrf) ? { kind: "account", browser, next: page } : null;
  }
  const pending = await findPending(options, form.get("request") ?? "", browser);
  return pending === null ? null : { kind: "request", waiting: pending };
}

async function checkPassphrase(
  options: SignInOptions,
  { request, peer, browser, purpose }: { request: Request; peer: Peer; browser: Browser; purpose: SignInPurpose },
  form: URLSearchParams,
): Promise<Response> {
  const { log, browsers, users, issuer } = options;
  const userName = (form.get("username") ?? "").trim().toLowerCase() || ownerId;
  const client = purpose.kind === "request" ? purpose.waiting.client.id : undefined;
  const passphrase = form.get("passphrase") ?? "";
  const outcome = await verifyPassphrase(options, { browser, userName, passphrase, address: peer.address });
  const user = outcome.user;
  const fields = { user, client };
  if (!outcome.ok) {
    logStep({ log, peer }, "sign_in", { outcome: "refused", reason: outcome.reason, ...fields });
    if (outcome.retryAfterSeconds !== null) {
      return await showSignIn(options, purpose, tooMany(userName, outcome.retryAfterSeconds));
    }
    const what = await users.hasNamedUsers() ? "user name or the passphrase" : "passphrase";
    const problem = `The ${what} is wrong. Try again.`;
    return await showSignIn(options, purpose, { userName, status: 403, problem });
  }
  const cookie = await browsers.signIn(request, outcome.account);
  logStep({ log, peer }, "sign_in", { outcome: "signed_in", ...fields });
  const next = purpose.kind === "request"
    ? pathOfRequest(issuer, purpose.waiting.handle)
    : pathOfPage(issuer, purpose.next);
  return seeOther(next, [cookie]);
}

function tooMany(userName: string, retryAfterSeconds: number) {
  const unit = retryAfterSeconds === 1 ? "second" : "seconds";
  const problem = `Too many attempts. Wait ${retryAfterSeconds} ${unit}, then try again.`;
  return { userName, status: 429, retryAfterSeconds, problem };
}
