/** The directories of the workspace, where it has several: a part of Settings. They are added on the machine alone. */
import { type Html, html } from "../../lib/page.ts";
import { commandLine } from "../../lib/program_name.ts";
import { actButton } from "./frame.ts";
import { type Act, type ConsoleSources, dataTable, type Visit } from "./section.ts";

type Directories = Pick<ConsoleSources, "directories" | "log">;

/** Nothing where the workspace is one directory. */
export function directoriesPart({ directories }: Directories, visit: Visit): Html {
  if (directories === null) return html``;
  const rows = directories.listed().map(({ name, path, isReadOnly, isAdded, isThere }) => [
    name,
    html`<code>${path}</code>`,
    isThere ? isReadOnly ? "Read only" : "Read and write" : html`<span class="badge warn">Away</span>`,
    isAdded
      ? actButton(visit, "settings", "take_out", "Take out", {
        values: { directory: name },
        kind: "danger",
        name: `Take out ${name}`,
      })
      : "Set in WORKSPACE_DIR",
  ]);
  return html`
    <h2>Directories</h2>
    <p>Folders of the workspace. Add one with <code>${commandLine("workspace add NAME=PATH")}</code>.</p>
    ${dataTable({ caption: "Directories", columns: ["Folder", "Path", "Access", "Actions"], rows, whenEmpty: "" })}
  `;
}

/** Its files stay where they are. */
export function takeOutAct({ directories, log }: Directories): Act {
  return {
    done: "Taken out. The server starts again when its calls are over.",
    forAdministrators: true,
    confirm: (form) => `take out ${form.get("directory")}`,
    run({ form, visitor, address }) {
      const name = form.get("directory") ?? "";
      const isAdded = directories?.listed().some((each) => each.isAdded && each.name === name) === true;
      if (!isAdded) {
        return Promise.resolve({ problem: "This directory was taken out already, or is set in WORKSPACE_DIR." });
      }
      log.write("audit", "directory_taken_out", { user: visitor.userId, address, outcome: "ok", what: name });
      directories?.takeOut(name);
      return Promise.resolve("done");
    },
  };
}
