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
  /** What was done just before. */
  readonly done?: string;
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
  const { problem, done, status, retryAfterSeconds, cookies } = page;
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
      ${done !== undefined && html`<p class="note good" role="status">${done}</p>`}
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

// The pages of the first start: choose a passphrase, then connect an application.

interface SetUpPage {
  readonly action: string;
  readonly code: string;
  /** Whose passphrase it is: someone who was invited; the owner at the first start when absent. */
  readonly userName?: string;
  readonly minCharacters: number;
  readonly problem?: string;
}

/** A button after the first passphrase that shows what is typed. Without script, there is none. */
const showPassphraseScript = `
"use strict";
(() => {
  const fields = document.querySelectorAll("input[type=password]");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain small show";
  button.textContent = "Show passphrase";
  button.addEventListener("click", () => {
    const isHidden = fields[0].type === "password";
    for (const field of fields) field.type = isHidden ? "text" : "password";
    button.textContent = isHidden ? "Hide passphrase" : "Show passphrase";
  });
  fields[0]?.after(button);
})();
`;

export function setUpPage({ action, code, userName, minCharacters, problem }: SetUpPage): Response {
  const invalid = problem === undefined ? null : html`
    aria-invalid="true"
  `;
  return pageResponse({
    title: userName === undefined ? "Set up" : "Choose a passphrase",
    script: showPassphraseScript,
    status: problem === undefined ? 200 : 422,
    body: html`
      <h1>${userName === undefined ? "Set up this server" : "Choose your passphrase"}</h1>
      <p>Choose the passphrase that you will use to sign in and approve applications. Your user name is
        <strong>${userName ?? "owner"}</strong>. Only a hash of the passphrase is stored.</p>
      ${problem === undefined ? null : html`<p class="note bad" id="problem" role="alert">${problem}</p>`}
      <form method="post" action="${action}">
        <input type="hidden" name="code" value="${code}">
        <input type="text" name="username" value="${userName ?? "owner"}" autocomplete="username" readonly hidden>
        <label class="field" for="passphrase">Passphrase</label>
        <input type="password" id="passphrase" name="passphrase" autocomplete="new-password" required autofocus
          minlength="${minCharacters}" maxlength="1024" aria-describedby="rule" ${invalid}>
        <p class="hint" id="rule">At least ${minCharacters} characters, and not a common passphrase. Several unrelated
          words are easy to remember.</p>
        <label class="field" for="confirmation">Repeat the passphrase</label>
        <input type="password" id="confirmation" name="confirmation" autocomplete="new-password" required
          minlength="${minCharacters}" maxlength="1024">
        <div class="actions"><button type="submit">Set passphrase</button></div>
      </form>
    `,
  });
}

/** Renders the page after set-up: how to connect a client. */
export function setUpDonePage(
  { resource, grantsPath, consolePath, servicenowLinkPath }: {
    readonly resource: string;
    readonly grantsPath: string;
    /** `null` where there is no console. */
    readonly consolePath: string | null;
    /** `null` where there is no instance. */
    readonly servicenowLinkPath: string | null;
  },
): Response {
  const more = consolePath === null
    ? html`Your <a href="${grantsPath}">Access page</a> lists what you have allowed, so that you can revoke it.`
    : html`The <a href="${consolePath}">console</a> shows who is connected and what they do, and lets you stop it.`;
  return pageResponse({
    title: "Ready",
    body: html`
      <h1>This server is ready</h1>
      <p>The passphrase is set. The user name is <strong>owner</strong>. Connect an application to this address:</p>
      <pre>${resource}</pre>
      <p>For example, in Claude Code:</p>
      <pre>claude mcp add --transport http portcullis ${resource}</pre>
      ${servicenowLinkPath !== null &&
        html`<p>To use ServiceNow through it, <a href="${servicenowLinkPath}">link your ServiceNow account</a>.</p>`}
      <p class="quiet">The application opens a page here, where you sign in and decide what it may do. ${more}</p>
    `,
  });
}
