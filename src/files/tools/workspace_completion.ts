/** Suggests paths as a shell does: the entries of the directory that was typed, whose names begin with the rest. */
import { entryPath, parseDirectoryPath, parseFilePath, type WorkspacePath } from "../workspace/path.ts";
import type { EntryKind } from "../workspace/listing.ts";
import type { Workspace } from "../workspace/port.ts";
import { isTypable } from "../workspace/file_display.ts";
import { fromTemplateValue, toTemplateValue } from "../workspace/file_uri.ts";

/** Values for the template that begin with what was typed; those of directories end in a slash. */
export async function completePath(workspace: Workspace, typed: string, limit: number): Promise<readonly string[]> {
  const text = fromTemplateValue(typed);
  if (text === null) return [];
  const slash = text.lastIndexOf("/") + 1;
  const directory = parseDirectoryPath(text.slice(0, slash));
  if (!directory.ok) return [];
  const prefix = text.slice(slash);
  const values: string[] = [];
  const suggest = (name: string, kind: EntryKind): void => {
    const value = toValue(entryPath(directory.value, name), kind);
    if (value !== null) values.push(value);
  };

  const whole = prefix === "" ? null : parseFilePath(text);
  if (whole?.ok) {
    const found = await workspace.stat(whole.value);
    if (found.ok) suggest(prefix, found.value.kind);
  }
  // names that begin with the prefix come right after it
  let after = prefix === "" ? undefined : prefix;
  while (values.length < limit) {
    const listing = await workspace.list(directory.value, { limit, ...after === undefined ? {} : { after } });
    if (!listing.ok) break;
    const { entries, hasMore } = listing.value;
    for (const { name, kind } of entries) if (name.startsWith(prefix)) suggest(name, kind);
    after = entries.at(-1)?.name;
    if (!hasMore || after === undefined || !after.startsWith(prefix)) break;
  }
  return values.slice(0, limit);
}

function toValue(path: WorkspacePath, kind: EntryKind): string | null {
  if (kind !== "file" && kind !== "directory") return null;
  if (!isTypable(path.text)) return null; // a name that has no address
  return kind === "directory" ? `${toTemplateValue(path)}/` : toTemplateValue(path);
}
