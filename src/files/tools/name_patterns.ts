/** The name patterns of a call: relative to its path or to the workspace, as answers name files. */
import { showName, showWritten } from "../workspace/file_display.ts";
import { type GlobMatcher, parseGlob, parseGlobs } from "../workspace/glob.ts";
import type { Ignored } from "../workspace/ignored.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Notice } from "./list_walk.ts";

/** Names that a notice repeats. */
const maxNoticedNames = 3;

/** Patterns that remember which of them fitted something. */
interface NamePatterns {
  readonly matches: GlobMatcher;
  /** Passes over what fits `exclude`, too: a walk does not enter it, so that it uses up none of the walk's bounds. */
  alsoExcluding(ignored: Ignored | undefined): Ignored | undefined;
  /** Once all was looked at: which patterns fitted nothing, with the form that works. */
  notices(): Notice[];
}

/** What to look for; `name` is noticed where a file is called so. */
interface Wanted {
  readonly pattern?: string | undefined;
  readonly exclude?: readonly string[] | undefined;
  readonly name?: string | undefined;
}

/** Prepares the patterns of a call about `base`; `null` when one is empty, too long or has too many alternatives. */
export function createNamePatterns(base: WorkspacePath, { pattern, exclude = [], name }: Wanted): NamePatterns | null {
  const wanted = pattern === undefined ? () => true : parseGlob(pattern);
  if (wanted === null || parseGlobs(exclude) === null) return null;
  const caseless = pattern === undefined ? null : parseGlob(pattern.toLowerCase());
  const excludes = exclude.map((text) => ({ text, matches: parseGlob(text), isUsed: false }));
  const namesakes: string[] = [];
  const composed = name?.normalize("NFC");
  let otherCase: string | null = null;
  let isUsed = pattern === undefined;
  const fits = (matches: GlobMatcher | null, segments: readonly string[]): boolean =>
    matches !== null && (matches(segments) || (base.text !== "" && matches([...base.segments, ...segments])));
  return {
    matches(segments) {
      if (segments.at(-1)?.normalize("NFC") === composed && namesakes.length < maxNoticedNames) {
        namesakes.push([...base.segments, ...segments].join("/"));
      }
      if (fits(wanted, segments)) return isUsed = true;
      if (!isUsed && otherCase === null && fits(caseless, segments.map((each) => each.toLowerCase()))) {
        otherCase = segments.join("/");
      }
      return false;
    },
    alsoExcluding(ignored) {
      if (excludes.length === 0) return ignored;
      return {
        enter: (segments, entries) => ignored?.enter(segments, entries),
        skips(segments, isDirectory) {
          const found = excludes.find(({ matches }) => fits(matches, segments));
          if (found !== undefined) found.isUsed = true;
          return found !== undefined || (ignored?.skips(segments, isDirectory) ?? false);
        },
        get skipped() {
          return ignored?.skipped ?? { count: 0, names: [] };
        },
      };
    },
    notices() {
      const unused = excludes.filter(({ isUsed }) => !isUsed).map(({ text }) => showWritten(text));
      const working = pattern === undefined || isUsed ? null : otherCase ?? workingForm(pattern);
      return [
        ...isUsed ? [] : [
          {
            words: `pattern ${showWritten(pattern ?? "")} fits nothing${
              working === null ? "" : `; did you mean ${otherCase === null ? showWritten(working) : showName(working)}?`
            }`,
            isRemedy: working !== null,
          },
        ],
        ...unused.length === 0
          ? []
          : [{ words: `exclude fits nothing: ${unused.slice(0, maxNoticedNames).join(", ")}`, isRemedy: false }],
        ...namesakes.length === 0
          ? []
          : [{ words: `files of that name: ${namesakes.map(showName).join(", ")}`, isRemedy: false }],
      ];
    },
  };
}

/** A pattern that may do what one was meant to do that is written as elsewhere; `null` where none is known. */
function workingForm(pattern: string): string | null {
  if (pattern.startsWith("!")) return `exclude ${pattern.slice(1)}`;
  if (/\.[*+]|\\\.|^\^|\$$/.test(pattern)) {
    return pattern.replace(/^\^|\$$/g, "").replace(/\.[*+]/g, "*").replace(/\\(.)/g, "$1").replace(
      /\(([\w|]+)\)/g,
      (_, either) => `{${String(either).replaceAll("|", ",")}}`,
    );
  }
  if (pattern.includes("\\")) return pattern.replaceAll("\\", "/");
  if (pattern.split("{").length > pattern.split("}").length) return `${pattern}}`;
  if (pattern.endsWith("/")) return `${pattern}**`;
  if (pattern.includes(",") && !pattern.includes("{")) return `{${pattern.replace(/,\s+/g, ",")}}`;
  if (/^\.?\w{1,5}$/.test(pattern)) return `*.${pattern.replace(".", "")}`;
  return null;
}
