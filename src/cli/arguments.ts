/** Splits arguments into words and flags, and reports every mistake at once. */
import { type ConfigProblem, settings } from "../app/mod.ts";
import { closestWord } from "../lib/closest_word.ts";

const settingFlags: readonly string[] = settings
  .flatMap((setting) => "flag" in setting && setting.flag !== undefined ? [setting.flag] : []);

/** Flags that every command takes, because all read the settings. */
export const commonFlags: readonly string[] = [...settingFlags, "config"];

/**
 * Takes `--flag value` and `--flag=value`, and switches without a value; after `--`, everything is a word. The problems
 * are flags that are unknown or lack their value.
 */
export function parseArguments(
  args: readonly string[],
  commandFlags: readonly string[],
  switches: readonly string[] = [],
) {
  const words: string[] = [];
  const flags: Record<string, string | undefined> = {};
  const problems: ConfigProblem[] = [];
  const known = [...commonFlags, ...commandFlags];
  let help = false;
  let version = false;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (arg === "--") {
      words.push(...args.slice(at + 1));
      break;
    }
    if (arg === "--help" || arg === "-h") help = true;
    else if (["--version", "-V", "-v"].includes(arg)) version = true;
    else if (!arg.startsWith("-")) words.push(arg);
    else {
      const [name = "", inline] = splitOnce(arg.replace(/^--?/, ""), "=");
      const next = args[at + 1];
      const takesNext = inline === undefined && next !== undefined && !next.startsWith("--");
      if (arg.startsWith("--") && switches.includes(name)) {
        if (inline === undefined) flags[name] = "on";
        else problems.push({ field: `--${name}`, hint: "takes no value" });
      } else if (!arg.startsWith("--") || !known.includes(name)) {
        // Not shown: its value may be a secret meant for another flag.
        problems.push({ field: arg.split("=", 1)[0] ?? arg, hint: unknownFlag(name, [...known, ...switches]) });
        if (takesNext && !next.startsWith("-")) at += 1;
      } else if (inline === undefined && !takesNext) {
        problems.push({ field: `--${name}`, hint: "needs a value" });
      } else {
        flags[name] = inline ?? next ?? "";
        if (inline === undefined) at += 1;
      }
    }
  }
  return { words, flags, help, version, problems };
}

/** Beyond a few mistakes, a flag that begins alike is what was meant. */
const prefixLength = 3;

function unknownFlag(name: string, known: readonly string[]): string {
  const closest = closestWord(name, known) ??
    known.find((flag) => name.length > prefixLength && flag.startsWith(name.slice(0, prefixLength))) ?? null;
  return closest === null ? "there is no such flag here" : `there is no such flag; did you mean --${closest}?`;
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
