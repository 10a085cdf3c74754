/** Tables of the console. */
import { type Html, html } from "../lib/page/html.ts";

type Cell = Html | string | number | null;

/** A column's heading; `number` columns are aligned to the right. */
interface Column {
  readonly title: string;
  readonly number?: true;
}

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
  const headings = columns.map(({ title, number }) =>
    number ? html`<th scope="col" class="number">${title}</th>` : html`<th scope="col">${title}</th>`
  );
  const lines = rows.map((cells) =>
    html`<tr>${
      cells.map((cell, index) =>
        columns[index]?.number ? html`<td class="number">${cell}</td>` : html`<td>${cell}</td>`
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
