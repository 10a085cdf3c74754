/** Paths as agents on the workspace's machine write them: absolute ones into it, and with Windows's separators. */
import { isObject } from "../lib/json.ts";
import type { Principal } from "../lib/principal.ts";
import type { Tool } from "../mcp/mod.ts";
import { parseDirectoryPath, readName, workspaceOf, type WorkspaceSource } from "../files/mod.ts";

/** Parameters whose values are paths, or lists of them or of objects with them; tools name them alike. */
const pathParameters: ReadonlySet<string> = new Set(
  ["path", "paths", "filename", "files", "destination", "output", "edits", "messages"],
);
const absolute = /^(?:[A-Za-z]:)?[\\/]/;

/** The tool with such paths understood: rules and the tool itself see the path below the workspace. */
export function takingMachinePaths(tool: Tool, source: () => WorkspaceSource): Tool {
  const { run, preview } = tool;
  const own = (input: never, principal: Principal): never => {
    let directories: readonly string[] | undefined; // looked for once a path needs it
    const below = (text: string): string => {
      if (!absolute.test(text)) return withSlashes(text);
      directories ??= workspaceOf(source(), principal).directories ?? [];
      return belowOne(text, directories) ?? text;
    };
    const meant = (value: unknown): unknown => {
      if (typeof value === "string") return below(value);
      if (Array.isArray(value)) return value.map(meant);
      if (!isObject(value)) return value;
      return Object.fromEntries(
        Object.entries(value).map(([name, member]) => [name, pathParameters.has(name) ? meant(member) : member]),
      );
    };
    return meant(input) as never;
  };
  return {
    ...tool,
    run: (input, context) => run(own(input, context.principal), context),
    ...preview === undefined
      ? {}
      : { preview: (input: never, context) => preview(own(input, context.principal), context) },
  };
}

/** A backslash that begins no escape of a name is a separator, where that gives a path. */
function withSlashes(text: string): string {
  if (!text.includes("\\") || readName(text) !== null) return text;
  const path = text.replace(/\\(?![ux]\{)/g, "/");
  return parseDirectoryPath(path).ok ? path : text;
}

function belowOne(text: string, directories: readonly string[]): string | null {
  const given = text.replaceAll("\\", "/");
  for (const directory of directories.map((each) => each.replaceAll("\\", "/"))) {
    if (given === directory) return ".";
    if (given.startsWith(`${directory}/`)) return given.slice(directory.length).replace(/^\/+/, "") || ".";
  }
  return null;
}
