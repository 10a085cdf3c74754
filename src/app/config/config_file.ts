/**
 * The configuration file: `KEY=value` lines with the names of the environment. It may hold secrets, so no line is ever
 * quoted in an error, and a file that others can read or change is refused.
 */
import { closestWord } from "../../lib/suggestible.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { faultWords } from "../../lib/system_fault.ts";
import { absolutePath, expandHome } from "../../lib/system_path.ts";
import { programName } from "../../lib/program_name.ts";

/** What is wrong with one setting. `value` is redacted for secrets. */
export interface ConfigProblem {
  readonly field: string;
  /** Left out where there is none to show. */
  readonly value?: string;
  readonly hint: string;
}

/** What a configuration file sets, by name. */
export interface ConfigFile {
  /** Absolute. */
  readonly path: string;
  readonly values: Readonly<Record<string, string>>;
}

/** The file that is read without `--config`, below the home directory. */
export const defaultConfigFileName = ".portcullis.env";

const maxFileBytes = 65_536;
const maxProblems = 20;

/** Reads the file at `path`; `null` where there is none and `mayBeAbsent`. `known` are the names it may set. */
export function readConfigFile(
  path: string,
  { known, mayBeAbsent }: { readonly known: readonly string[]; readonly mayBeAbsent: boolean },
): Result<ConfigFile | null, readonly ConfigProblem[]> {
  const absolute = absolutePath(expandHome(path) ?? path);
  const refuse = (hint: string) => failure([{ field: absolute, hint }]);
  try {
    const { isFile, mode, uid, size } = Deno.statSync(absolute); // before it is opened: opening a pipe would wait
    if (!isFile) return refuse("is not a file");
    const exposure = mode === null ? null : exposureOf(mode, uid);
    if (exposure !== null) return refuse(`${exposure}, and may hold secrets: chmod 600 ${absolute}`);
    if (size > maxFileBytes) return refuse(`is larger than ${maxFileBytes} bytes`);
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Deno.readFileSync(absolute));
    const values = parseConfigFile(text, absolute, known);
    return values.ok ? success({ path: absolute, values: values.value }) : values;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound && mayBeAbsent) return success(null);
    return refuse(error instanceof TypeError ? "is not UTF-8 text" : `cannot be read: ${faultWords(error)}`);
  }
}

/** A group may read what root gives it (root:portcullis, 0640): how a service reads a file that it may not change. */
function exposureOf(mode: number, uid: number | null): string | null {
  if ((mode & 0o022) !== 0) return "can be changed by others";
  return (mode & 0o004) !== 0 || ((mode & 0o040) !== 0 && uid !== 0) ? "can be read by others" : null;
}

/** Nothing is expanded or escaped. `path` is for the messages. */
export function parseConfigFile(
  text: string,
  path: string,
  known: readonly string[],
): Result<Readonly<Record<string, string>>, readonly ConfigProblem[]> {
  const lineOf = new Map<string, number>();
  const values: Record<string, string> = {};
  const problems: ConfigProblem[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (problems.length === maxProblems) break;
    const refuse = (hint: string) => void problems.push({ field: `${path}, line ${index + 1}`, hint });
    const content = line.trim();
    if (content === "" || content.startsWith("#")) continue;
    const [, name, rest] = /^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$/.exec(content) ?? [];
    const value = rest === undefined ? null : valueOf(rest.trimStart());
    if (name === undefined) refuse("is not KEY=value");
    else if (!known.includes(name)) refuse(unknownName(name, known));
    else if (lineOf.has(name)) refuse(`sets ${name} again, which line ${lineOf.get(name)} sets`);
    else if (value === null) refuse(`the value of ${name} has a quote without its other one, or text after it`);
    else {
      lineOf.set(name, index + 1);
      values[name] = value;
    }
  }
  return problems.length > 0 ? failure(problems) : success(values);
}

/** A value in quotes is what is between them; another ends at a blank with a # behind it. */
function valueOf(text: string): string | null {
  const quote = text[0];
  if (quote !== "'" && quote !== '"') return text.replace(/(^|\s+)#.*$/, "").trimEnd();
  const end = text.indexOf(quote, 1);
  return end > 0 && /^\s*(#.*)?$/.test(text.slice(end + 1)) ? text.slice(1, end) : null;
}

/** The name is shown only where it is near a known one: it may be a part of a pasted secret. */
function unknownName(name: string, known: readonly string[]): string {
  const closest = known.includes(name.toUpperCase()) ? name.toUpperCase() : closestWord(name, known);
  return closest === null ? "does not set a setting" : `sets ${name}, which is not a setting; did you mean ${closest}?`;
}

/** `error:` then one line a problem: field, value, hint. Where only flags of a command are wrong, its help is the hint. */
export function describeProblems(problems: readonly ConfigProblem[], command?: string): string {
  const lines = problems.map(({ field, value, hint }) =>
    `  ${field}${value === undefined ? "" : ` = ${value}`}: ${hint}`
  );
  const areFlags = command !== undefined && problems.every(({ field }) => field.startsWith("-"));
  const noun = areFlags ? "flag" : "setting";
  const count = problems.length === 1 ? `1 ${noun} is` : `${problems.length} ${noun}s are`;
  const help = areFlags
    ? `\`${programName()} ${command} --help\` lists its flags`
    : `\`${programName()} config --all\` explains every setting`;
  return `error: ${count} not usable\n${lines.join("\n")}\nhint: ${help}\n`;
}
