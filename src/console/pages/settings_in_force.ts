/** Settings in force: what each is, and where it comes from. Changing one is the operator's, and needs a restart. */
import { html } from "../../lib/page.ts";
import type { Section } from "./section.ts";
import { dataTable } from "./words.ts";
import { commandLine } from "../../lib/program_name.ts";

interface SettingRow {
  readonly heading: string;
  readonly name: string;
  /** "set" for a secret. */
  readonly value: string;
  readonly source: string;
}

export function settingsSection(rows: readonly SettingRow[]): Section {
  return {
    name: "settings",
    title: "Settings",
    forAdministrators: true,
    show() {
      const headings = [...new Set(rows.map(({ heading }) => heading))];
      const tables = headings.map((heading) =>
        html`
          <h2>${heading}</h2>
          ${dataTable({
            caption: heading,
            columns: ["Setting", "Value", "Source"],
            rows: rows.filter((row) => row.heading === heading).map(({ name, value, source }) => [
              html`<code>${name}</code>`,
              html`<code>${value}</code>`,
              source,
            ]),
            whenEmpty: "",
          })}
        `
      );
      return Promise.resolve(html`
        <p>These are in force. They are changed where the server is started, and take effect with a restart.
          <code>${commandLine("config --all")}</code> explains each.</p>
        <div class="titled">${tables}</div>
      `);
    },
  };
}
