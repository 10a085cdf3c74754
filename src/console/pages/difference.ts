/** Differences as people read them. */
import { type Html, html } from "../../lib/html.ts";

/** A difference, its lines that come and go marked for eyes and screen readers alike; a long one scrolls by keyboard. */
export function differenceBlock(text: string, label: string): Html {
  return html`<pre class="difference" tabindex="0" role="group" aria-label="${label}">${differenceLines(text)}</pre>`;
}

function differenceLines(text: string): Html {
  const isDifference = /^@@ /m.test(text);
  const lines = text.split("\n");
  return html`${
    lines.map((line, index) => {
      const end = index === lines.length - 1 ? "" : "\n";
      if (isDifference && line.startsWith("+")) return html`<ins>${line}</ins>${end}`;
      return isDifference && line.startsWith("-") ? html`<del>${line}</del>${end}` : html`${line}${end}`;
    })
  }`;
}
