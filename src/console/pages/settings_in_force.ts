/** Settings in force: what each is, and where it comes from. Changing one is the operator's, and needs a restart. */
import { type Html, html } from "../../lib/page.ts";
import { failure, success } from "../../lib/result.ts";
import { durationWords } from "../../lib/time.ts";
import { actButton } from "./frame.ts";
import { type Act, type ConsoleSources, dataTable, type Section, type Visit } from "./section.ts";
import { commandLine } from "../../lib/program_name.ts";

const units = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** A number of seconds or bytes as people read it, exact on hover; other values as they are. */
function readable(name: string, value: string): Html {
  const count = /^\d{1,15}$/.test(value) ? Number(value) : 0;
  if (count > 0 && /_SECONDS$|_TTL$|_LIFETIME$|_TIMEOUT$/.test(name)) {
    return html`<span title="${value} s">${durationWords(count)}</span>`;
  }
  const [unit, size] = Object.entries(units).findLast(([, size]) => count >= size && count % size === 0) ?? ["", 1];
  return count > 0 && unit !== "" && name.includes("BYTES")
    ? html`<span title="${value} bytes">${count / size} ${unit}</span>`
    : html`<code>${value}</code>`;
}

/** The settings by heading; secrets come in as "set". */
export function settingsSection(sources: Pick<ConsoleSources, "settings" | "directories" | "log">): Section {
  const { settings: rows } = sources;
  return {
    name: "settings",
    title: "Settings",
    tab: "Server",
    forAdministrators: true,
    acts: { take_out: takeOutAct(sources) },
    show(visit) {
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
        ${directoriesPart(sources, visit)}
        <p
          class="quiet">Changed where the server is started, with a restart: <code>${commandLine(
            "config --all",
          )}</code></p>
        <div class="titled">${tableOf("Changed settings", changed)}
          <details id="defaults"><summary>${presets.length} defaults</summary>${byHeading.map(([heading, group]) =>
            html`<h2>${heading}</h2>${tableOf(heading, group)}`
          )}</details></div>
      `;
    },
  };
}

type Directories = Pick<ConsoleSources, "directories" | "log">;

/** The directories of the workspace, where it has several. They are added on the machine alone. */
function directoriesPart({ directories }: Directories, visit: Visit): Html | null {
  if (directories === null) return null;
  const rows = directories.listed().map(({ name, path, isReadOnly, isAdded, isThere }) => {
    const options = { values: { directory: name }, kind: "danger", about: name } as const;
    return [
      name,
      html`<code>${path}</code>`,
      isThere ? isReadOnly ? "Read only" : "Read and write" : html`<span class="badge warn">Away</span>`,
      isAdded ? actButton(visit, "settings", "take_out", "Take out", options) : "Set in WORKSPACE_DIR",
    ];
  });
  return html`
    <h2>Directories</h2>
    <p class="quiet">Folders of the workspace. Add one: <code>${commandLine("workspace add NAME=PATH")}</code></p>
    ${dataTable("Directories", ["Folder", "Path", "Access", "Actions"], rows)}
  `;
}

/** Its files stay where they are. */
function takeOutAct({ directories, log }: Directories): Act {
  return {
    forAdministrators: true,
    confirm: (form) => `take out ${form.get("directory")}`,
    run({ form, by }) {
      const name = form.get("directory") ?? "";
      const isAdded = directories?.listed().some((each) => each.isAdded && each.name === name) === true;
      if (!isAdded) {
        return Promise.resolve(failure("This directory was taken out already, or is set in WORKSPACE_DIR."));
      }
      log.write("audit", "directory_taken_out", { user: by.userId, address: by.address, outcome: "ok", what: name });
      directories?.takeOut(name);
      return Promise.resolve(success("Taken out. The server starts again when its calls are over."));
    },
  };
}
