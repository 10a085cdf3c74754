/**
 * Which test files belong to which part of the gate, and which run together in one process of `deno test`. The lists name
 * what is known of a file; a file that is gone stays in them without harm.
 */
import { heavyFiles, longFiles } from "./known_files.ts";

/** What files of one process may take together, in seconds of processor time. */
const mostSeconds = 20;
const filesAtOnce = 24;
/** A file that is in no list. */
const usualSeconds = 0.7;

/** The first part is the gate; the second one has what takes long, and the third what only `deno task full` runs. */
export type GatePart = "first" | "long" | "full";

/** The groups of all test files: those that may run beside others, and those that may not. */
export interface TestGroups {
  readonly together: readonly (readonly string[])[];
  readonly alone: readonly (readonly string[])[];
}

const longEntry = (file: string) =>
  longFiles.find(({ path }) => path.endsWith("/") ? file.startsWith(path) : file === path);

/** Roughly how long a file takes, in seconds of processor time. */
export function secondsOf(file: string): number {
  return longEntry(file)?.seconds ?? heavyFiles[file] ?? usualSeconds;
}

/** The part that runs a file. */
export function partOf(file: string): GatePart {
  const entry = longEntry(file);
  return entry === undefined ? "first" : entry.isForFull ? "full" : "long";
}

/** Every test file below a directory, sorted. */
export function testFiles(directory = "tests"): string[] {
  return Array.from(Deno.readDirSync(directory)).flatMap(({ name, isDirectory }) => {
    const path = `${directory}/${name}`;
    if (isDirectory) return testFiles(path);
    return name.endsWith("_test.ts") ? [path] : [];
  }).sort();
}

/**
 * Divides files into groups, each file into one, the longest group first: a file that takes long has a process of its own,
 * the others share one with their folder's, and where there is room with those of other folders. Each process takes half a
 * second to start, and as long again to load what tests import.
 */
export function groupTests(files: readonly string[]): TestGroups {
  const isAlone = (file: string): boolean => longEntry(file)?.alone === true;
  const folders = Map.groupBy(
    files.filter((file) => !isAlone(file)),
    (file) => file.slice(0, file.lastIndexOf("/")),
  );
  const groups: string[][] = [];
  for (const inFolder of folders.values()) {
    let group: string[] = [];
    for (const file of inFolder.toSorted((one, other) => secondsOf(other) - secondsOf(one))) {
      if (group.length === filesAtOnce || sumOf(group) + secondsOf(file) > mostSeconds) group = [];
      if (group.length === 0) groups.push(group);
      group.push(file);
    }
  }
  const longestFirst = (one: readonly string[], other: readonly string[]): number => sumOf(other) - sumOf(one);
  const together: string[][] = [];
  for (const group of groups.sort(longestFirst)) {
    const room = together.find((other) =>
      other.length + group.length <= filesAtOnce && sumOf(other) + sumOf(group) <= mostSeconds
    );
    if (room === undefined) together.push(group);
    else room.push(...group);
  }
  return {
    together: together.sort(longestFirst),
    alone: files.filter(isAlone).map((file) => [file]),
  };
}

/** The same for several files. */
export function sumOf(files: readonly string[]): number {
  return files.reduce((sum, file) => sum + secondsOf(file), 0);
}
