/** The page on which a person decides what a client may do. */
import { type Html, html } from "../../lib/html.ts";
import { scopeCatalogue } from "../../scopes.ts";
import { pageResponse } from "../../lib/page.ts";

/** What the consent page shows. */
export interface ConsentPage {
  readonly action: string;
  readonly grantsPath: string;
  readonly handle: string;
  /** Ties the page to the person whom it was shown to. */
  readonly proof: string;
  readonly clientName: string;
  /** Who vouches for the client's name: nobody, the operator, or the domain that its metadata came from. */
  readonly identity:
    | { readonly kind: "unverified" }
    | { readonly kind: "operator" }
    | { readonly kind: "domain"; readonly domain: string };
  readonly redirectUri: string;
  readonly resource: string;
  readonly userId: string;
  readonly userName: string;
  readonly scopes: readonly string[];
  readonly problem?: string;
  readonly cookies?: readonly string[];
}

function scopeChoice(name: string): Html | null {
  const scope = scopeCatalogue.find((entry) => entry.name === name);
  if (scope === undefined) return null;
  const implied = scope.implies.length === 0 ? null : html`
    Includes <code>${scope.implies.join(", ")}</code>.
  `;
  return html`
    <label class="scope">
      <input type="checkbox" name="scope" value="${name}" checked>
      <span>${scope.words}</span>
      <small><code>${name}</code>${implied === null ? null : html`.${implied}`}</small>
    </label>
  `;
}

function identityFact(identity: ConsentPage["identity"]): Html {
  switch (identity.kind) {
    case "unverified":
      return html`Name not verified`;
    case "operator":
      return html`Added by the operator of this server`;
    case "domain":
      return html`Published by <strong>${identity.domain}</strong>`;
  }
}

/** Renders the consent page. */
export function consentPage(page: ConsentPage): Response {
  const target = new URL(page.redirectUri);
  const isLoopback = target.protocol === "http:";
  return pageResponse({
    title: "Allow access?",
    formsLeave: true,
    ...(page.cookies === undefined ? {} : { cookies: page.cookies }),
    body: html`
      <h1>${page.clientName} asks for access</h1>
      <p class="quiet">Allow only what you started yourself and expect.</p>
      ${page.problem === undefined ? null : html`<p class="note bad" role="alert">${page.problem}</p>`}
      <dl class="facts">
        <div>
          <dt>Application</dt>
          <dd>${identityFact(page.identity)}</dd>
        </div>
        <div>
          <dt>Sends you to</dt>
          <dd class="mono">${target.host}</dd>
        </div>
        <div>
          <dt>Access to</dt>
          <dd class="mono">${page.resource}</dd>
        </div>
        <div>
          <dt>Signed in as</dt>
          <dd>${page.userName}</dd>
        </div>
      </dl>
      ${isLoopback
        ? html`<p class="note warn">This application runs on your own computer. Any program there could have asked:
          continue only if you have just started the connection.</p>`
        : null}
      <form method="post" action="${page.action}">
        <input type="hidden" name="request" value="${page.handle}">
        <input type="hidden" name="account" value="${page.userId}">
        <input type="hidden" name="proof" value="${page.proof}">
        <fieldset>
          <legend>It wants to</legend>
          ${page.scopes.map(scopeChoice)}
        </fieldset>
        <p class="hint">Untick what it should not do. You can take this back at any time on <a
          href="${page.grantsPath}">the page of what you gave</a>.</p>
        <div class="actions">
          <button type="submit" name="decision" value="allow">Allow</button>
          <button type="submit" name="decision" value="deny" class="plain">Deny</button>
        </div>
      </form>
    `,
  });
}
