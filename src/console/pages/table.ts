/** Tables of the console. */
import { type Html, html } from "../../lib/html.ts";

type Cell = Html | string | number | null;

/** A column's heading; numbers are aligned to the right. */
type Column = string | { readonly number: string };

/** A table that scrolls by itself in a narrow window, or `whenEmpty` in words. */
export function dataTable(
  { caption, columns, rows, whenEmpty }: {
    readonly caption: string;
    readonly columns: readonly Column[];
    readonly rows: readonly (readonly Cell[])[];
    readonly whenEmpty: Html | string;
  },
): Html {
  if (rows.length === 0) return html`<p class="quiet">${whenEmpty}</p>`;
  const headings = columns.map((column) =>
    typeof column === "string"
      ? html`<th scope="col">${column}</th>`
      : html`<th scope="col" class="number">${column.number}</th>`
  );
  const lines = rows.map((cells) =>
    html`<tr>${
      cells.map((cell, index) =>
        typeof columns[index] === "object" ? html`<td class="number">${cell}</td>` : html`<td>${cell}</td>`
      )
    }</tr>`
  );
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label="${caption}">
      <table>
        <caption>${caption}</caption>
        <thead>
          <tr>${headings}</tr>
        </thead>
        <tbody>${lines}</tbody>
      </table>
    </div>
  `;
}
