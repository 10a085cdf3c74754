/** HTML that cannot be injected into: a template tag that escapes every interpolated value unless it is HTML already. */

/** Markup that is safe to send. Only the {@link html} tag makes it. */
export interface Html {
  readonly markup: string;
}

/** What may stand in a `${}` of the {@link html} tag; `null`, `undefined` and `false` print nothing. */
type HtmlValue = string | number | Html | readonly HtmlValue[] | null | undefined | false;

const made = new WeakSet<Html>();

function isHtml(value: HtmlValue): value is Html {
  return typeof value === "object" && value !== null && made.has(value as Html);
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "`": "&#96;",
};

/** Text made safe for element content and quoted attribute values. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => entities[character] ?? "");
}

function render(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return "";
  if (isHtml(value)) return value.markup;
  if (Array.isArray(value)) return value.map(render).join("");
  return escapeHtml(String(value));
}

function wrap(markup: string): Html {
  const result: Html = { markup };
  made.add(result);
  return result;
}

/** The template tag. Attribute values must stand in quotes. */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return wrap(strings.reduce((page, part, index) => page + render(values[index - 1]) + part));
}

/** A `<script>` element around a script of our own; `code` must be a constant of this program. */
export function scriptElement(code: string): Html {
  return wrap(`<script>${code}</script>`);
}

/** A `<style>` element around a stylesheet of our own; `css` must be a constant of this program. */
export function styleElement(css: string): Html {
  return wrap(`<style>${css}</style>`);
}
