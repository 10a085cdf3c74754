/** `connect CLIENT --write` and `--remove`: shows what changes in a client's own configuration file, and changes it. */
import { basename, dirname, join } from "node:path";
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
  const [bom = ""] = /^\ufeff/.exec(stored.value ?? "") ?? [];
  const text = (stored.value ?? "").slice(bom.length);
  const there = editor.find(text);
  if (!there.ok) return refuse(`${path}, ${there.error}`, "nothing was changed; correct the file and try again");
  if (there.value !== null && !isOurs(there.value)) {
    return refuse(
      `${path} has an entry "${file.keys.at(-1)}" that connect did not write:\n${printable(there.value)}`,
      "nothing was changed; rename or remove that entry first",
    );
  }
  const changed = editor.put(text, entry);
  if (!changed.ok) return refuse(`${path}, ${changed.error}`, "nothing was changed");
  const isSame = changed.value === text;
  const origin = entry === null && !isSame ? await findOrigin(path, changed.value, editor) : null;
  const after = origin?.text ?? changed.value;
  if (isSame) {
    const has = entry === null ? "no entry of Portcullis" : "this entry already";
    return endWith(say, `${title}: ${path} has ${has}. Nothing was changed.\n`, 0);
  }

  const isEmpty = entry === null && origin === null && /^(?:[\s{}]|"\w+"\s*:)*$/.test(after); // nothing but the objects around it
  const replaces = entry !== null && there.value !== null ? " (replaces the entry that connect wrote before)" : "";
  say(`${title}: ${isEmpty ? "remove" : "change"} ${path}${replaces}\n${difference(text, after)}\n`);
  if (!isAgreed) {
    if (ask === null) return refuse("nothing was changed", "run it again with --yes");
    if (!await ask("Make this change? [y/N] ")) return endWith(say, "Nothing was changed.\n");
  }
  try {
    const [shown, isKept] = [stored.value, origin === null];
    const backup = await replaceFile(path, { shown, isKept, text: isEmpty ? null : bom + after });
    if (backup === false) {
      return refuse(`${path} was changed by another program meanwhile`, "nothing was changed; run it again");
    }
    if (origin !== null) await Deno.remove(origin.backup);
    const kept = backup === null ? "" : ` The file as it was: ${backup}`;
    say(`${isEmpty ? "Removed" : "Changed"} ${path}.${kept}\n${next}\n`);
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

/** The file's text, with the mark that some begin with; `null` when there is none. */
async function readFile(path: string): Promise<Result<string | null, string>> {
  if (!placeExists(path)) return success(null);
  try {
    const { isFile, size } = await Deno.stat(path);
    if (!isFile) return failure("this is no file");
    if (size > maxFileBytes) return failure(`the file is larger than ${maxFileBytes} bytes`);
    return success(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await Deno.readFile(path)));
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

const backupMark = ".portcullis-backup-";

/** The backup of the file as it was before `connect` wrote its entry, if nothing else was changed since. */
async function findOrigin(path: string, without: string, editor: EntryEditor) {
  const names = await Array.fromAsync(Deno.readDir(dirname(path)), ({ name }) => name);
  for (const name of names.filter((each) => each.startsWith(`${basename(path)}${backupMark}`)).sort().reverse()) {
    const backup = join(dirname(path), name);
    const kept = await readFile(backup);
    const text = (kept.ok ? kept.value ?? "" : "").replace(/^\ufeff/, "");
    const [found, added] = [editor.find(text), editor.put(text, {})];
    const removed = added.ok && found.ok && found.value === null ? editor.put(added.value, null) : null;
    if (kept.ok && removed?.ok && removed.value === without) return { backup, text };
  }
  return null;
}

/**
 * Replaces the file at once and, where it `isKept`, keeps the one before beside it, or removes it (`text` is `null`); a
 * link stays one, the mode too. Says where the old one is, `null` without one; `false`, with nothing done, where it is
 * not what was shown.
 */
async function replaceFile(
  path: string,
  { shown, text, isKept }: { readonly shown: string | null; readonly text: string | null; readonly isKept: boolean },
): Promise<string | null | false> {
  const target = shown === null ? path : await Deno.realPath(path);
  await Deno.mkdir(dirname(target), { recursive: true });
  const temporary = `${target}.portcullis-${randomId()}`;
  try {
    if (shown !== null) {
      const { uid, gid } = await Deno.stat(target);
      await Deno.copyFile(target, temporary); // with its mode
      if (uid !== null && gid !== null) await Deno.chown(temporary, uid, gid);
    }
    if (text !== null) {
      using file = await Deno.open(temporary, { write: true, create: true, truncate: true, mode: 0o600 });
      const bytes = new TextEncoder().encode(text);
      for (let from = 0; from < bytes.length;) from += await file.write(bytes.subarray(from));
      await file.sync();
    }
    const now = await readFile(target);
    if (!now.ok || now.value !== shown) return false;
    if (text === null) {
      await Deno.remove(target);
      return null;
    }
    const backup = shown === null || !isKept
      ? null
      : `${path}${backupMark}${new Date().toISOString().replaceAll(/[:.]/g, "-")}`;
    if (backup !== null) await Deno.copyFile(target, backup);
    await Deno.rename(temporary, target);
    return backup;
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
