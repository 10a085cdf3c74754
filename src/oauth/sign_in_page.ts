/** The page that asks for the passphrase. */
import { type Html, html, pageResponse } from "../lib/page.ts";

export interface SignInPage {
  readonly action: string;
  /** Binds the form to this browser: the waiting request's handle, or a CSRF token. */
  readonly hidden: readonly (readonly [name: string, value: string])[];
  readonly purpose:
    | { readonly kind: "request"; readonly clientName: string }
    | { readonly kind: "grants" | "servicenowLink" | "console" | "act" };
  readonly askUserName: boolean;
  readonly userName?: string;
  readonly problem?: string;
  readonly status?: number;
  readonly retryAfterSeconds?: number;
  readonly cookies?: readonly string[];
}

function purposeWords(purpose: SignInPage["purpose"]): Html {
  switch (purpose.kind) {
    case "request":
      return html`“${purpose.clientName}” wants access. Sign in to decide what it may do.`;
    case "grants":
      return html`Sign in to see which applications have access, and to revoke it.`;
    case "console":
      return html`Sign in to see what your agents do, and to decide what they may do.`;
    case "act":
      return html`You were signed out. Sign in, and what you asked for is done.`;
    case "servicenowLink":
      return html`First sign in to this server, so that it knows whose account it links. You sign in to ServiceNow
        after that.`;
  }
}

export function signInPage(page: SignInPage): Response {
  const { problem, status, retryAfterSeconds, cookies } = page;
  const described = problem === undefined ? html`` : html`
    aria-invalid="true" aria-describedby="problem"
  `;
  const focus = html`autofocus`;
  const focusName = page.askUserName && (page.userName ?? "") === "" ? focus : null;
  const userName = page.askUserName
    ? html`
      <label class="field" for="username">User name</label>
      <input type="text" id="username" name="username" value="${page.userName ?? ""}" autocomplete="username"
        autocapitalize="none" spellcheck="false" required maxlength="64" aria-describedby="who" ${focusName}>
      <p class="hint" id="who">The person who set up this server is <code>owner</code>.</p>
    `
    // Hidden: password managers store the passphrase under it.
    : html`<input type="text" name="username" value="owner" autocomplete="username" readonly hidden>`;
  const title = page.purpose.kind === "servicenowLink" ? "Link your ServiceNow account" : "Sign in";
  return pageResponse({
    title,
    ...(status === undefined ? {} : { status }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(cookies === undefined ? {} : { cookies }),
    body: html`
      <h1>${title}</h1>
      <p class="quiet">${purposeWords(page.purpose)}</p>
      ${problem === undefined ? null : html`<p class="note bad" id="problem" role="alert">${problem}</p>`}
      <form method="post" action="${page.action}">
        ${page.hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
        ${userName}
        <label class="field" for="passphrase">Passphrase</label>
        <input type="password" id="passphrase" name="passphrase" autocomplete="current-password" required
          maxlength="1024" ${focusName === null ? focus : null}${described}>
        <div class="actions"><button type="submit">Sign in</button></div>
      </form>
      ${problem === undefined ? null : html`<p class="hint">Forgotten it? The operator of this server can set a new one
        with the command <code>users reset NAME</code>.</p>`}
    `,
  });
}
