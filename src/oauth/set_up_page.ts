/** The pages of the first start: choose a passphrase, then connect an application. */
import { html } from "../lib/html.ts";
import { pageResponse } from "../lib/page.ts";

interface SetUpPage {
  readonly action: string;
  readonly code: string;
  /** Whose passphrase it is: someone who was invited; the owner at the first start when absent. */
  readonly userName?: string;
  readonly minCharacters: number;
  readonly problem?: string;
}

export function setUpPage({ action, code, userName, minCharacters, problem }: SetUpPage): Response {
  const invalid = problem === undefined ? null : html`
    aria-invalid="true"
  `;
  return pageResponse({
    title: userName === undefined ? "Set up" : "Choose a passphrase",
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
