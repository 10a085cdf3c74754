/** What listings and searches share: which names their patterns fit, what was skipped, and notices about both. */
import * as z from "zod";
import type { ToolOutcome } from "../../mcp/mod.ts";
import { childPath, parseDirectoryPath, showName, showWritten, toPathText } from "../workspace/path.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import {
  createIgnored,
  type GlobMatcher,
  type Ignored,
  maxWalkDepth,
  parseGlob,
  parseGlobs,
  walk,
} from "../workspace/walk.ts";
import type { Workspace } from "../workspace/port.ts";
import { count } from "./input.ts";

/** Entries between two looks at the time. */
export const visitsPerCheck = 32;

/** Names of skipped entries in each answer. */
const maxShownSkipped = 3;

/** Directories that could not be read, in structured content. */
const maxUnreadDirectories = 100;
/** Skipped entries, in structured content. */
export const skippedOutput: z.ZodLazy<z.ZodObject> = z.lazy(() =>
  z.object({ count: z.int(), directories: z.array(z.string()) })
);

/** A size as people write it: 340, 12K, 3.1M. */
export function toSize(bytes: number, isExact = false): string {
  if (bytes < 1000 || isExact) return String(bytes);
  let size = bytes;
  for (const unit of ["K", "M", "G", "T"]) {
    size /= 1000;
    if (size < 9.95) return `${size.toFixed(1)}${unit}`;
    if (size < 999.5) return `${Math.round(size)}${unit}`;
  }
  return `${Math.round(size)}T`;
}

/**
 * The skipped entries, and the directories that could not be read, as lines of the answer and as structured content.
 * Empty if there were none.
 */
export function skippedParts(ignored: Ignored | undefined, hasRemedy = true, maxShown = maxShownSkipped) {
  const { count: all, names } = ignored?.skipped ?? { count: 0, names: [] };
  const namesOf = (named: readonly string[], total: number) =>
    `${named.slice(0, maxShown).map(showName).join(", ")}${total > Math.min(named.length, maxShown) ? ", ..." : ""}`;
  const unread = ignored?.unread ?? [];
  const failed = namesOf(unread.slice(0, maxShownSkipped), unread.length);
  const notRead = failed === "" ? [] : [`(could not look into ${failed})`];
  const directoriesOf = (named: readonly string[]) =>
    named.filter((name) => name.endsWith("/")).map((name) => toPathText(name.slice(0, -1)));
  const directories = directoriesOf(unread.slice(0, maxUnreadDirectories));
  const facts = unread.length === 0 ? {} : { unread_directories: directories };
  if (all === 0) return { lines: notRead, facts };
  const more = names.length === 0 ? "" : `: ${namesOf(names, all)}`;
  const line = `(${count(all, "ignored entry", "ignored entries")} skipped${more}${hasRemedy ? seeIgnored : ""})`;
  return { lines: [line, ...notRead], facts: { ...facts, skipped: { count: all, directories: directoriesOf(names) } } };
}

const seeIgnored = "; set include_ignored to see them";

/** The notice when little or nothing was found. */
export interface Notice {
  readonly words: string;
  /** Whether it names what is wrong: then what was ignored is not it. */
  readonly isRemedy: boolean;
}

/** The answer with notices behind it. */
export function withNotices(answer: ToolOutcome, notices: readonly Notice[]): ToolOutcome {
  const [first, ...others] = answer.ok ? answer.content : [];
  if (!answer.ok || first?.type !== "text" || notices.length === 0) return answer;
  const said = notices.some(({ isRemedy }) => isRemedy) ? first.text.replace(`${seeIgnored})`, ")") : first.text;
  const text = [said, ...notices.map(({ words }) => `(${words})`)].join("\n");
  return { ...answer, content: [{ type: "text", text }, ...others] };
}

/** Excludes what is hidden; said by a truth value, so that no notice asks for what it fits. */
export const hiddenNames = ".*";

/** Names that a notice repeats. */
export const maxNoticedNames = 3;

/** What to look for; `name` is noticed where a file is called so. */
interface Wanted {
  readonly pattern?: string | undefined;
  readonly exclude?: readonly string[] | undefined;
  readonly name?: string | undefined;
  /** Whether `pattern` fits in any case. */
  readonly isCaseless?: boolean | undefined;
}

/** Longer patterns are not looked at for what they mean: each of their forms is asked of each entry. */
const maxMeantCharacters = 80;

type Fits = (matches: GlobMatcher | null, segments: readonly string[]) => boolean;

/** Forms of one pattern, those of its forms included. */
const maxForms = 24;

/** A pattern that remembers whether it fitted something, and until then which form of it would have. */
function createTracked(text: string, fits: Fits) {
  const matches = parseGlob(text);
  const forms = formsOf(text).map((each) => ({ ...each, matches: parseGlob(plainOf(each.form)), isUsed: false }));
  const tracked = {
    text,
    isUsed: false,
    fits(segments: readonly string[]): boolean {
      if (fits(matches, segments)) return tracked.isUsed = true;
      for (const form of tracked.isUsed ? [] : forms) {
        form.isUsed ||= fits(form.matches, segments);
        if (form.isUsed) break; // those behind it are not asked for any more
      }
      return false;
    },
    /** What may have been meant, and fits something. */
    meant: (): string | undefined => forms.find(({ isUsed }) => isUsed)?.form,
    /** What was meant, and fits nothing either. */
    neither: (): string | undefined => forms.find(({ isSure }) => isSure)?.form,
  };
  return tracked;
}

/** The other forms of a pattern, and theirs, the likeliest first. */
function formsOf(text: string): readonly { readonly form: string; readonly isSure: boolean }[] {
  const forms = new Map([[text, true]]);
  for (const [each, isEachSure] of text.length > maxMeantCharacters ? [] : forms) {
    for (const [sign, toForm, isSure = false] of otherForms) {
      if (!sign.test(each) || each.startsWith("exclude ") || forms.size > maxForms) continue;
      const form = toForm(each);
      if (!forms.has(form) && plainOf(form) !== "") forms.set(form, isEachSure && isSure);
    }
  }
  forms.delete(text);
  return Array.from(forms, ([form, isSure]) => ({ form, isSure }));
}

const plainOf = (form: string): string => form.replace(/^exclude /, "");

/** The patterns of a call about `base`, which remember what fitted; `null` when one is empty, too long or has too many alternatives. */
export function createNamePatterns(base: WorkspacePath, { pattern, exclude = [], name, isCaseless }: Wanted) {
  if ((pattern !== undefined && parseGlob(pattern) === null) || parseGlobs(exclude) === null) return null;
  const fits: Fits = (matches, segments) =>
    matches !== null && (matches(segments) || (base.text !== "" && matches([...base.segments, ...segments])));
  const lowered: Fits = (matches, segments) => fits(matches, segments.map((each) => each.toLowerCase()));
  const wanted = pattern === undefined
    ? null
    : isCaseless
    ? createTracked(pattern.toLowerCase(), lowered)
    : createTracked(pattern, fits);
  const caseless = pattern === undefined ? null : parseGlob(pattern.toLowerCase());
  const excludes = exclude.map((text) => createTracked(text, fits));
  const namesakes: string[] = [];
  const composed = name?.normalize("NFC");
  let inOtherCase: string | undefined;
  const excludeNotices = (): Notice[] => {
    const unused = excludes.filter(({ text, isUsed }) => !isUsed && text !== hiddenNames);
    if (/[{,]!/.test(pattern ?? "")) return [{ words: "! is no sign in a pattern: give exclude", isRemedy: true }];
    if (unused.length === 0) return [];
    const meant = unused.flatMap((each) => each.meant() ?? []).slice(0, maxNoticedNames).map(showWritten);
    const words = unused.slice(0, maxNoticedNames).map(({ text }) => showWritten(text)).join(", ");
    return [{ words: `exclude fits nothing: ${words}${question(meant.join(", "))}`, isRemedy: false }];
  };
  return {
    matches(segments: readonly string[]): boolean {
      if (composed?.endsWith(segments.at(-1)?.normalize("NFC") ?? "") && namesakes.length < maxNoticedNames) {
        const path = [...base.segments, ...segments].join("/");
        if (`/${path.normalize("NFC")}`.endsWith(`/${composed}`)) namesakes.push(path);
      }
      if (wanted === null || wanted.fits(segments)) return true;
      if (!wanted.isUsed && inOtherCase === undefined && lowered(caseless, segments)) {
        inOtherCase = showName(segments.join("/"));
      }
      return false;
    },
    /** Passes over what fits `exclude`, too: a walk does not enter it, so that it uses up none of the walk's bounds. */
    alsoExcluding(ignored: Ignored | undefined): Ignored {
      return {
        unread: [],
        enter: (segments, entries) => ignored?.enter(segments, entries),
        skips: (segments, isDirectory) =>
          excludes.some((each) => each.fits(segments)) || (ignored?.skips(segments, isDirectory) ?? false),
        get skipped() {
          return ignored?.skipped ?? { count: 0, names: [] };
        },
      };
    },
    /** Once all was looked at: what was to be excluded and is not there. */
    excludeNotices,
    /** The same, and the pattern where it fitted nothing, with the form that works. */
    notices(): Notice[] {
      const notices = excludeNotices();
      if (wanted !== null && !wanted.isUsed) {
        const form = wanted.meant();
        const isPath = form === undefined || !/[*?{]/.test(wanted.text);
        const meant = isPath && inOtherCase !== undefined ? inOtherCase : showWritten(form ?? "");
        const neither = showWritten(meant === "" ? wanted.neither() ?? "" : "");
        const words = `pattern ${showWritten(wanted.text)} fits nothing${
          neither === "" ? question(meant) : `, nor does ${neither}`
        }`;
        notices.unshift({ words, isRemedy: meant + neither !== "" });
      }
      if (namesakes.length > 0) {
        notices.push({ words: `files of that name: ${namesakes.map(showName).join(", ")}`, isRemedy: false });
      }
      return notices;
    },
  };
}

function question(meant: string): string {
  return meant === "" ? "" : `; did you mean ${meant}?`;
}

const braced = (pattern: string): string => `{${pattern.trim().replace(/[,|;\s]+/g, ",")}}`;

/**
 * What shows that a pattern is written as elsewhere, and the form that works, the likeliest first. `isSure`: it can mean
 * nothing else, which is worth saying where that fits nothing either.
 */
const otherForms: readonly (readonly [sign: RegExp, toForm: (pattern: string) => string, isSure?: true])[] = [
  [/^\s|\s$/, (pattern) => pattern.trim(), true],
  [/^(["'`]).+\1$/, (pattern) => pattern.replaceAll(pattern.charAt(0), ""), true],
  [/^\{[^{},]+\}$/, (pattern) => pattern.slice(1, -1), true],
  [/^\/.+\/[a-z]*$/, (pattern) => pattern.replace(/^\/(.+)\/[a-z]*$/, "$1")],
  [/^(?:~\/|file:\/\/)/, (pattern) => pattern.replace(/^(?:~|file:)\/+/, ""), true],
  [/^!/, (pattern) => `exclude ${withBraces(pattern.slice(1).replace(/^\(([^()|]*)\)$/, "$1"))}`, true],
  [/!\([^()]+\)/, (pattern) => `exclude ${withBraces(pattern.replace("!(", "("))}`, true],
  [/[@+?*]\([^()]*\)/, withBraces, true],
  [/\.[*+]|\\\.|^\^|\$$/, (pattern) => {
    const plain = pattern.replace(/^\^|\$$/g, "").replace(/\.[*+]/g, "*").replace(/\\(.)/g, "$1");
    return `${/^\^|\//.test(pattern) || plain.startsWith("*") ? "" : "*"}${withBraces(plain)}`;
  }, true],
  [/\\\W/, (pattern) => pattern.replace(/\\(\W)/g, "$1")],
  [/\\/, (pattern) => pattern.replaceAll("\\", "/"), true],
  [/^\.\.\//, (pattern) => pattern.replace(/^(?:\.\.\/)+/, ""), true],
  [/\{[^}]*$/, (pattern) => `${pattern}}`, true],
  [/\/$/, (pattern) => `${pattern}**`, true],
  [/\([^()]*\)/, withBraces, true],
  [/^[^{]*[,|]/, braced, true],
  [/^[^{]*[;\s]/, braced],
  [/%/, (pattern) => pattern.replaceAll("%", "*")],
  [/^\.?\w{1,5}$/, (pattern) => `*.${pattern.replace(".", "")}`, true],
  [/^[^*?[\]{}]+$/, (pattern) => `**/${pattern}/**`],
  [/\//, (pattern) => `**/${pattern}`],
  [/[^*]\/\*\./, (pattern) => pattern.replace("/*.", "/**/*.")],
  [/[A-Z]/, (pattern) => pattern.toLowerCase()],
  [/^[^*?[\]{}/]+$/, (pattern) => `*${pattern}*`],
];

/** Alternatives as shells and expressions write them, also behind a sign, in braces; one alone is itself. */
function withBraces(pattern: string): string {
  return pattern.replace(
    /[@+?*]?\(([^()]*)\)/g,
    (_, inner: string) => inner.includes("|") ? `{${inner.replaceAll("|", ",")}}` : inner,
  );
}

// * Files by a pattern, for tools that take names of files.

/** Whether a name stands for several files. Brackets do not count: usual names have them. */
export function isPattern(name: string): boolean {
  return /[*?{]/.test(name);
}

/** The directory that all files of a pattern are in, as far as the pattern names it; empty for the whole workspace. */
export function directoryOfPattern(pattern: string): string {
  const names = pattern.split("/");
  return names.slice(0, names.findIndex(isPattern)).join("/");
}

/**
 * Their names in the order of a listing, without ignored ones; not `isWhole` where there are more than `limit`, or the
 * tree was not looked at to its end. `null` for a pattern that cannot be used.
 */
export async function matchingFiles(
  workspace: Workspace,
  pattern: string,
  { limit, isOver }: { readonly limit: number; readonly isOver: () => boolean },
): Promise<{ readonly names: readonly string[]; readonly isWhole: boolean } | null> {
  const directory = directoryOfPattern(pattern);
  const path = parseDirectoryPath(directory === "" ? "." : directory);
  const rest = directory === "" ? pattern : pattern.slice(directory.length + 1);
  const matches = parseGlob(rest);
  if (!path.ok || matches === null) return null;
  const isDeep = directory === "" || /\/|\*\*/.test(rest); // *.txt alone is about names at any depth
  const ignored = await createIgnored(workspace, path.value);
  const names: string[] = [];
  let visited = 0;
  for await (const step of walk(workspace, path.value, { depth: isDeep ? maxWalkDepth : 1, ignored })) {
    if (!step.ok) return { names, isWhole: false };
    const { kind, segments, isSkipped } = step.value;
    if (kind === "file" && !isSkipped && matches(segments)) {
      if (names.length === limit) return { names, isWhole: false };
      names.push(showName(childPath(path.value, segments).text));
    }
    visited++;
    if (visited === workspace.limits.maxTreeEntries || (visited % visitsPerCheck === 0 && isOver())) {
      return { names, isWhole: false };
    }
  }
  return { names, isWhole: ignored.unread.length === 0 };
}
