/** `connect CLIENT --write` and `--remove`: shows what changes in a client's own configuration file, and changes it. */
import { dirname, join } from "node:path";
import { structuredPatch } from "diff";
import { loadOnce } from "../lib/program.ts";
import { randomId } from "../lib/secrets.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { ClientFile } from "../lib/client_configurations.ts";
import { type CommandContext, endWith, type ExitStatus } from "./command.ts";
import type { EntryEditor } from "./edit_entry.ts";

/** What is known of the machine and of whom to ask. */
interface Machine {
  readonly os: typeof Deno.build.os;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Asks whether to go on; `null` without a terminal. */
  readonly ask: ((question: string) => Promise<boolean>) | null;
}

interface Change {
  readonly title: string;
  readonly file: ClientFile;
  /** What the entry shall be; `null` removes it. */
  readonly entry: Readonly<Record<string, unknown>> | null;
  /** Whether the change was agreed to beforehand. */
  readonly isAgreed: boolean;
  /** What the user does next. */
  readonly next: string;
}

/** Larger files are not a person's configuration. */
const maxFileBytes = 16 * 1_024 * 1_024;
const maxBackups = 100;
const shownContextLines = 3;
const loadEditor = loadOnce(() => import("./edit_entry.ts"));

/** Shows the change, asks, and writes. Expected refusals are told; nothing was changed then. */
export async function changeClientFile(
  { title, file, entry, isAgreed, next }: Change,
  { os, env, ask }: Machine,
  say: CommandContext["say"],
): Promise<ExitStatus> {
  const refuse = (words: string, hint: string): ExitStatus => endWith(say, `error: ${words}\nhint: ${hint}\n`);
  const places = file.places.map((place) => placeOn(place, { os, env }));
  const path = places.find((place) => placeExists(place)) ?? places[0] ?? "";
  const { jsonEntry, tomlEntry } = await loadEditor();
  const editor = path.endsWith(".toml") ? tomlEntry(file.keys) : jsonEntry(file.keys);
  const stored = await readFile(path);
  if (!stored.ok) return refuse(`${path}: ${stored.error}`, "nothing was changed");
  const { bom, text } = stored.value ?? { bom: "", text: "" };
  const there = editor.find(text);
  if (!there.ok) return refuse(`${path}, ${there.error}`, "nothing was changed; correct the file and try again");
  if (there.value !== null && !isOurs(there.value.text)) {
    const name = file.keys.at(-1);
    return refuse(
      `${path} has an entry "${name}" that connect did not write:\n${printable(there.value.text)}`,
      "nothing was changed; rename or remove that entry first",
    );
  }
  if (entry === null && there.value === null) {
    return endWith(say, `${title}: ${path} has no entry of Portcullis. Nothing was changed.\n`, 0);
  }
  const origin = entry === null && there.value !== null && stored.value !== null
    ? await findOrigin(path, stored.value.text, there.value.entry, editor)
    : null;
  const changed = entry === null ? origin?.text ?? editor.remove(text) : editor.set(text, entry);
  const after = typeof changed === "string" ? success(changed) : changed;
  if (!after.ok) return refuse(`${path}, ${after.error}`, "nothing was changed");
  if (after.value === text && origin?.isAbsent !== true) {
    return endWith(say, `${title}: ${path} has this entry already. Nothing was changed.\n`, 0);
  }

  const heading = origin?.isAbsent ? `remove ${path}` : `change ${path}`;
  const replaces = entry !== null && there.value !== null ? " (replaces the entry that connect wrote before)" : "";
  say(`${title}: ${heading}${replaces}\n${difference(text, after.value)}\n`);
  if (!isAgreed) {
    if (ask === null) return refuse("nothing was changed", "run it again with --yes");
    if (!await ask("Make this change? [y/N] ")) return endWith(say, "Nothing was changed.\n");
  }
  try {
    const backup = stored.value === null || origin !== null ? null : await keepOld(path, stored.value.bytes);
    const isSame = await replaceFile(path, {
      shown: stored.value?.bytes ?? null,
      bytes: origin?.isAbsent ? null : new TextEncoder().encode(bom + after.value),
    });
    if (!isSame) {
      if (backup !== null) await Deno.remove(backup);
      return refuse(`${path} was changed by another program meanwhile`, "nothing was written; run it again");
    }
    if (origin?.backup !== undefined) await Deno.remove(origin.backup);
    const kept = backup === null ? "" : ` The file as it was: ${backup}`;
    say(`${origin?.isAbsent ? "Removed" : "Changed"} ${path}.${kept}\n${next}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof Error) || !(error.name in Deno.errors || "code" in error)) throw error;
    return refuse(`${path}: ${error.message}`, "nothing was changed");
  }
}

/** The path of a place as `ClientFile` writes it, on this machine. */
function placeOn(place: string, { os, env }: Pick<Machine, "os" | "env">): string {
  const home = (os === "windows" ? env["USERPROFILE"] : env["HOME"]) || "~";
  const xdg = os === "windows"
    ? env["APPDATA"] || join(home, "AppData/Roaming")
    : env["XDG_CONFIG_HOME"] || "~/.config";
  const config = os === "darwin" ? "~/Library/Application Support" : xdg;
  const path = place.replace(/^\$\{(\w+):-([^}]+)\}/, (_, name, otherwise) => env[name] || otherwise)
    .replace(/^CONFIG(?=\/)/, () => config).replace(/^XDG(?=\/)/, () => xdg)
    .replace(/^~(?=\/)/, () => home);
  return join(path);
}

function placeExists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

interface StoredFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly bom: string;
  readonly text: string;
}

/** The file's text; `null` when there is none. */
async function readFile(path: string): Promise<Result<StoredFile | null, string>> {
  if (!placeExists(path)) return success(null);
  try {
    const { isFile, size } = await Deno.stat(path);
    if (!isFile) return failure("this is no file");
    if (size > maxFileBytes) return failure(`the file is larger than ${maxFileBytes} bytes`);
    const bytes = await Deno.readFile(path);
    const whole = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const bom = whole.startsWith("\ufeff") ? "\ufeff" : "";
    return success({ bytes, bom, text: whole.slice(bom.length) });
  } catch (error) {
    if (error instanceof TypeError) return failure("the file is not UTF-8 text");
    return failure(error instanceof Deno.errors.NotFound ? "this is a link to nothing" : String(error));
  }
}

/** Whether the text of an entry is one that `connect` wrote, for whichever address or directories. */
function isOurs(text: string): boolean {
  return /\b(?:url|httpUrl|serverUrl)"?\s*[:=]\s*"[^"]*\/mcp"/.test(text) ||
    (text.includes('"mcp-remote"') && text.includes('/mcp"')) ||
    (text.includes('"stdio"') && text.includes('"--workspace"'));
}

/** What the file was before `connect` wrote into it, if nothing else was changed since. */
async function findOrigin(
  path: string,
  text: string,
  entry: object | string,
  editor: EntryEditor,
): Promise<{ readonly text: string; readonly isAbsent: boolean; readonly backup?: string } | null> {
  const leadsHere = (before: string): boolean => {
    const found = editor.find(before);
    const again = found.ok && found.value === null ? editor.set(before, entry) : null;
    return again?.ok === true && again.value === text;
  };
  for (const backup of backupPaths(path).filter(placeExists).reverse()) {
    const kept = await readFile(backup);
    if (kept.ok && kept.value !== null && leadsHere(kept.value.text)) {
      return { text: kept.value.text, isAbsent: false, backup };
    }
  }
  return leadsHere("") ? { text: "", isAbsent: true } : null;
}

function backupPaths(path: string): string[] {
  const first = `${path}.portcullis-backup`;
  return Array.from({ length: maxBackups }, (_, index) => index === 0 ? first : `${first}-${index + 1}`);
}

/** Keeps the file as it was, beside it, and says where. */
async function keepOld(path: string, bytes: Uint8Array): Promise<string> {
  const { mode } = await Deno.stat(path);
  const backup = backupPaths(path).find((each) => !placeExists(each));
  if (backup === undefined) throw new Deno.errors.AlreadyExists(`there are ${maxBackups} backups beside it`);
  await Deno.writeFile(backup, bytes, { createNew: true, mode: (mode ?? 0o600) & 0o777 });
  return backup;
}

/**
 * Replaces the file at once, or removes it; a link stays one, and the mode too. `false`, with nothing done, when the
 * file is no longer what was shown.
 */
async function replaceFile(
  path: string,
  { shown, bytes }: { readonly shown: Uint8Array | null; readonly bytes: Uint8Array | null },
): Promise<boolean> {
  const target = shown === null ? path : await Deno.realPath(path);
  const isUnchanged = async (): Promise<boolean> => {
    const now = await Deno.readFile(target).catch(() => null);
    return now === null || shown === null
      ? now === shown
      : now.length === shown.length && now.every((byte, index) => byte === shown[index]);
  };
  if (bytes === null) {
    if (!await isUnchanged()) return false;
    await Deno.remove(target);
    return true;
  }
  await Deno.mkdir(dirname(target), { recursive: true });
  const before = shown === null ? null : await Deno.stat(target);
  const temporary = `${target}.portcullis-${randomId()}`;
  try {
    using file = await Deno.open(temporary, { write: true, createNew: true, mode: 0o600 });
    for (let from = 0; from < bytes.length;) from += await file.write(bytes.subarray(from));
    if (before !== null && Deno.build.os !== "windows") {
      const own = await file.stat();
      if (before.uid !== own.uid || before.gid !== own.gid) await Deno.chown(temporary, before.uid, before.gid);
      await Deno.chmod(temporary, (before.mode ?? 0o600) & 0o7777);
    }
    await file.sync();
    if (!await isUnchanged()) return false;
    await Deno.rename(temporary, target);
    return true;
  } finally {
    await Deno.remove(temporary).catch(() => {}); // which is gone when it was renamed
  }
}

/** The lines that differ, with some around them. */
function difference(before: string, after: string): string {
  const options = { context: shownContextLines, stripTrailingCr: true };
  const { hunks } = structuredPatch("", "", before, after, "", "", options);
  const lines = hunks.flatMap((hunk) => hunk.lines).filter((line) => !line.startsWith("\\")); // how the file ends
  return printable(lines.map((line) => `${line.slice(0, 1)} ${line.slice(1)}`).join("\n"));
}

/** Without characters that a terminal acts on. */
function printable(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}
