/** Calls of the file tools: contents that grow, patterns that go back, trees and names at their limits. */
import type { Random } from "../soak/random.ts";
import { type Attacks, call } from "./attack.ts";
import { hostileText, sizeAround } from "./hostile_values.ts";

const mebibyte = 1_048_576;
const names = Array.from({ length: 12 }, (_, index) => `hostile/${index}.txt`);
const deep = Array.from({ length: 60 }, () => "d").join("/");
const expressions = [
  "(a+)+$",
  `(?i)${"a?".repeat(100)}${"a".repeat(40)}z`,
  "(a|aa)+b",
  "[^\\n]{1,250}z",
  "(.*)(.*)(.*)x",
  `${"(".repeat(100)}a${")".repeat(100)}`,
  "a{1,100}{1,100}",
];

const fileName = (random: Random): string =>
  random.chance(0.1) ? hostileText(random, sizeAround(random, 4096, mebibyte)) : random.pick(names);

/** By tool. */
export const fileAttacks: Attacks = {
  file_write: (random) =>
    call("file_write", {
      filename: fileName(random),
      content: hostileText(random, sizeAround(random, mebibyte, 2 * mebibyte)),
      mode: random.pick(["overwrite", "overwrite", "create", "append"]),
    }),
  file_edit: (random) => {
    const oldText = hostileText(random, random.pick([1, 2, 33, 5_000, 300_000]));
    return call("file_edit", {
      filename: fileName(random),
      old_text: oldText,
      new_text: hostileText(random, random.pick([0, 1, 500, 100_000, mebibyte])),
      replace_all: random.chance(0.9),
      dry_run: random.chance(0.5),
    });
  },
  file_edit_that_multiplies: (random) =>
    call("file_edit", {
      filename: random.pick(names),
      old_text: random.pick(["a", "\n", '"', " "]),
      new_text: random.pick(["\n", "a\n", "b"]).repeat(random.pick([1, 500, mebibyte / 2])),
      replace_all: true,
      dry_run: true,
    }),
  file_read: (random) =>
    call("file_read", {
      filename: fileName(random),
      ...random.pick([{}, {}, { head: 1_000_000 }, { tail: 1_000_000 }, { start_line: 7 }, { embed: true }]),
    }),
  file_read_made_up_cursor: (random) =>
    call("file_read", { filename: random.pick(names), cursor: hostileText(random, random.pick([10, 100_000])) }),
  several_files: (random) =>
    call("file_read", {
      filename: fileName(random),
      files: Array.from({ length: sizeAround(random, 50, 400) }, () => fileName(random)).slice(0, 400),
    }),
  file_list: (random) =>
    call("file_list", {
      path: random.pick([".", "hostile", "tree", deep]),
      depth: random.pick([1, 2, 64]),
      show: random.pick(["names", "details", "summary", "duplicates"]),
      sort: random.pick(["name", "size", "modified"]),
      limit: random.pick([1, 1000, 10_000]),
      ...random.pick([{}, { pattern: "**/*" }, { pattern: hostileText(random, sizeAround(random, 300, 10_000)) }]),
    }),
  file_search: (random) =>
    call("file_search", {
      query: random.chance(0.5)
        ? random.pick(expressions)
        : hostileText(random, sizeAround(random, 1_000, 10_000)).replaceAll("\n", "a"),
      regex: random.chance(0.5),
      ignore_case: random.chance(0.3),
      context: random.pick([0, 10]),
      limit: random.pick([1, 1000]),
    }),
  file_search_names: (random) =>
    call("file_search", { pattern: random.pick(["*", "**/*", `${"*a".repeat(100)}`, "{a,b}{c,d}{e,f}{g,h}{i,j}"]) }),
  file_copy: (random) =>
    call("file_move", { copy: true, filename: random.pick(names), destination: random.pick(names), overwrite: true }),
  file_move: (random) =>
    call("file_move", { filename: random.pick(names), destination: random.pick(names), overwrite: true }),
  file_delete: (random) => call("file_delete", { filename: random.pick(names) }),
  make_directory: (random) =>
    call("file_move", {
      destination: random.pick([deep, `${deep}/${deep}`, `tree/${random.int(500)}/${"n".repeat(200)}`]),
    }),
};
