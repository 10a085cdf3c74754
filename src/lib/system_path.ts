/** Paths as the system spells them. Without Node's modules, which take the starting program longer than all its own code. */
import { nodeProcess } from "./program.ts";

const onWindows = Deno.build.os === "windows"; // whose drives, shares and two separators are left to Node

/** The absolute, normal spelling of a path. */
export function absolutePath(path: string): string {
  if (onWindows) return nodeProcess().getBuiltinModule("node:path").resolve(path);
  const names: string[] = [];
  for (const name of (path.startsWith("/") ? path : `${Deno.cwd()}/${path}`).split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}

/**
 * A path whose beginning `~`, `$HOME` or `${HOME}` is the home directory, which a shell leaves alone in quotes and in a
 * file. `null` where that is needed and the user has none.
 */
export function expandHome(path: string, home: () => string | null = homeDirectory): string | null {
  const [start] = /^(~|\$HOME|\$\{HOME\})(?=[\\/]|$)/.exec(path) ?? [];
  if (start === undefined) return path;
  const directory = home();
  return directory === null ? null : `${directory}${path.slice(start.length)}`;
}

/** The path of what lies below a directory, absolute. */
export function pathBelow(directory: string, path: string): string {
  return absolutePath(`${directory}/${path}`);
}

/** The directory that holds what lies at an absolute path; a root holds itself. */
export function parentOf(path: string): string {
  return absolutePath(`${path}/..`);
}

/** Whether anything is there, a link itself. Throws for a path that is out of reach: it is no absent one. */
export function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Where an absolute path begins: `/`, or a drive or share of Windows. Empty for a relative path. */
export function rootOf(path: string): string {
  if (onWindows) return nodeProcess().getBuiltinModule("node:path").parse(path).root;
  return path.startsWith("/") ? "/" : "";
}

/** `null` for a user without HOME and without an entry among the system's users. */
export function homeDirectory(): string | null {
  const mayAsk = Deno.permissions.querySync({ name: "env", variable: "HOME" }).state === "granted";
  const home = onWindows || !mayAsk ? undefined : Deno.env.get("HOME");
  return home || nodeProcess().getBuiltinModule("node:os").homedir() as string | null; // null, whatever Node's types say
}

/** Whether modes or the mount keep this user from writing to a directory; the modes of a group count as allowing it. */
export function isReadOnly(path: string): boolean {
  try {
    const { mode, uid, gid } = Deno.statSync(path);
    const own = Deno.uid();
    const bits = own === uid ? 0o200 : gid === Deno.gid() ? 0o020 : 0o022;
    if (mode !== null && own !== 0 && (mode & bits) === 0) return true;
    Deno.renameSync(`${path}/.portcullis-absent`, `${path}/.portcullis-absent-too`); // a read-only mount answers first
    return false;
  } catch (error) {
    return error instanceof Error && /os error 30/.test(error.message);
  }
}
