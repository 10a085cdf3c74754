/** Several directories as a setting writes them: `notes=~/notes,code="/srv/a,b":ro`. Pure, and without other modules. */
import { failure, type Result, success } from "../../lib/result.ts";

/** A directory of the workspace. */
export interface NamedDirectory {
  /** Its folder at the top of the workspace; empty where it is the whole of it. */
  readonly name: string;
  readonly path: string;
  readonly isReadOnly: boolean;
}

/** Each is open, watched, and looked at by every undo. */
const maxDirectories = 32;

const namePattern = /[\p{L}\p{N}](?:[\p{L}\p{M}\p{N} ._-]{0,62}[\p{L}\p{M}\p{N}_-])?/u.source;
const isNamed = new RegExp(`^\\s*(?:${namePattern})\\s*=`, "u");
// a comma ends a path where another name follows it
const entry = new RegExp(
  `\\s*(${namePattern})\\s*=\\s*(?:"((?:[^"]|"")*)"|([^",](?:(?!,\\s*${namePattern}\\s*=)[^])*?))(:ro|:rw)?\\s*(?:,(?=\\s*${namePattern}\\s*=)|$)`,
  "uy",
);

/** `null` for a text that names no directory: it is the path of the only one. */
export function parseNamedDirectories(text: string): Result<readonly NamedDirectory[], string> | null {
  if (!isNamed.test(text)) return null;
  const found: NamedDirectory[] = [];
  for (let at = 0; at < text.length; at = entry.lastIndex) {
    entry.lastIndex = at;
    const [, name, quoted, plain = "", suffix] = entry.exec(text) ?? [];
    if (name === undefined) {
      return failure('must be NAME=PATH, or NAME=PATH:ro, with commas between; quote a path with "');
    }
    const path = quoted?.replaceAll('""', '"') ?? plain;
    found.push({ name, path, isReadOnly: suffix === ":ro" });
  }
  const names = new Set(found.map(({ name }) => name.normalize("NFKC").toLowerCase()));
  if (names.size < found.length) return failure("has a name twice");
  if (found.length > maxDirectories) return failure(`has more than ${maxDirectories} directories`);
  return success(found);
}

/** The text that {@link parseNamedDirectories} takes, on one line; without a name the path alone. */
export function formatDirectory({ name, path, isReadOnly }: NamedDirectory): string {
  if (name === "") return path;
  const written = /^[^"]*$/.test(path) && !/,|:r[ow]$|\s$/.test(path) ? path : `"${path.replaceAll('"', '""')}"`;
  return `${name}=${written}${isReadOnly ? ":ro" : ""}`;
}

/** A name for a directory that has none, made of the last one of its path. */
export function nameOfPath(path: string): string {
  const last = path.split(/[\\/]/).at(-1) ?? "";
  return new RegExp(`^(?:${namePattern})$`, "u").test(last) ? last : "workspace";
}
