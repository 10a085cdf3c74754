/** Settings in force: what each is, and where it comes from. Changing one is the operator's, and needs a restart. */
import { type Html, html } from "../../lib/page.ts";
import { durationWords } from "../../lib/time.ts";
import { type ConsoleSources, dataTable, type Section } from "./section.ts";
import { commandLine } from "../../lib/program_name.ts";

const units = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** A number of seconds or bytes as people read it, exact on hover; other values as they are. */
function readable(name: string, value: string): Html {
  const count = /^\d{1,15}$/.test(value) ? Number(value) : 0;
  if (count > 0 && /_SECONDS$|_TTL$|_LIFETIME$/.test(name)) {
    return html`<span title="${value} s">${durationWords(count)}</span>`;
  }
  const [unit, size] = Object.entries(units).findLast(([, size]) => count >= size && count % size === 0) ?? ["", 1];
  return count > 0 && unit !== "" && name.includes("BYTES")
    ? html`<span title="${value} bytes">${count / size} ${unit}</span>`
    : html`<code>${value}</code>`;
}

/** The settings by heading; secrets come in as "set". */
export function settingsSection({ settings: rows }: Pick<ConsoleSources, "settings">): Section {
  return {
    name: "settings",
    title: "Settings",
    tab: "Server",
    forAdministrators: true,
    show() {
      const tableOf = (caption: string, shown: ConsoleSources["settings"]): Html =>
        dataTable(
          caption,
          ["Setting", "Value", "Source"],
          shown.map(({ name, value, source }) => [
            html`<code>${name.split("_").map((part, index) => html`${index > 0 && html`_<wbr>`}${part}`)}</code>`,
            ...[readable(name, value), source],
          ]),
          "All settings have their defaults.",
        );
      const presets = rows.filter(({ source }) => source === "default");
      const changed = rows.filter(({ source }) => source !== "default");
      const byHeading = [...Map.groupBy(presets, ({ heading }) => heading)];
      return html`
        <p
          class="quiet">Changed where the server is started, with a restart: <code>${commandLine(
            "config --all",
          )}</code>. Directories of the workspace: <code>${commandLine("workspace list")}</code></p>
        <div class="titled">${tableOf("Changed settings", changed)}
          <details id="defaults"><summary>${presets.length} defaults</summary>${byHeading.map(([heading, group]) =>
            html`<h2>${heading}</h2>${tableOf(heading, group)}`
          )}</details></div>
      `;
    },
  };
}
