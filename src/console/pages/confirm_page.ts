/** The page that asks for the passphrase once more, before a dangerous act. */
import { type Html, html } from "../../lib/html.ts";

/** The form again, with the passphrase; `form` holds what was posted. */
export function confirmBody(
  { words, form, action, problem }: {
    readonly words: string;
    readonly form: URLSearchParams;
    readonly action: string;
    readonly problem: string | null;
  },
): Html {
  const kept = [...form].filter(([name]) => name !== "passphrase")
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
  const described = problem === null ? null : html`aria-invalid="true" aria-describedby="problem"`;
  return html`
    <p>To ${words}, enter your passphrase again.</p>
    ${problem !== null && html`<p class="note bad" id="problem" role="alert">${problem}</p>`}
    <form method="post" action="${action}">
      ${kept}
      <label class="field" for="passphrase">Passphrase</label>
      <input type="password" id="passphrase" name="passphrase" autocomplete="current-password" required autofocus
        maxlength="1024" ${described}>
      <div class="actions"><button type="submit">Confirm</button></div>
    </form>
  `;
}
