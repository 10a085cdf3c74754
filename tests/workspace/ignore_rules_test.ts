import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { createIgnored, maxRuleCharactersInAll, parseIgnoreRules, walk } from "../../src/files/workspace/walk.ts";
import { parseDirectoryPath } from "../../src/files/workspace/path.ts";
import { withWorkspace } from "../tools/with_workspace.ts";
import { needsPrograms } from "../fixtures/skipped_unless.ts";

const cases: readonly (readonly [rules: string, path: string, verdict: "ignored" | "included" | null])[] = [
  ["logs", "logs/", "ignored"],
  ["logs", "a/logs", "ignored"],
  ["/logs", "a/logs", null],
  ["logs/", "logs", null],
  ["logs/", "a/logs/", "ignored"],
  ["a/logs", "a/logs", "ignored"],
  ["a/logs", "b/a/logs", null],
  ["*.log", "a/b.log", "ignored"],
  ["*.log\n!b.log", "a/b.log", "included"],
  ["!b.log\n*.log", "a/b.log", "ignored"],
  ["# comment\n\n\\#file", "#file", "ignored"],
  ["\\!file", "!file", "ignored"],
  ["a\\ ", "a ", "ignored"],
  ["a  ", "a", "ignored"],
  ["*.[oa]", "x.o", "ignored"],
  ["*.[!oa]", "x.o", null],
  ["[a-c]x", "bx", "ignored"],
  ["[", "[", "ignored"],
  ["a/**/b", "a/b", "ignored"],
  ["a/**/b", "a/x/y/b", "ignored"],
  ["a/**", "a/x", "ignored"],
  ["**/b", "x/y/b", "ignored"],
  ["a?c", "abc", "ignored"],
  ["a\r\nb", "a", "ignored"],
];

for (const [rules, path, verdict] of cases) {
  Deno.test(`the rules ${JSON.stringify(rules)}: ${path} is ${verdict ?? "not named"}`, () => {
    const names = path.split("/").filter((name) => name !== "");
    assert.equal(parseIgnoreRules(rules)(names, path.endsWith("/")), verdict);
  });
}

Deno.test("rules that no pattern can make slow: twenty asterisks, a thousand rules, names of 255 bytes", () => {
  const name = "a".repeat(255);
  const decide = parseIgnoreRules(`${"*a".repeat(140)}b\n`.repeat(1000));
  for (let round = 0; round < 50; round++) assert.equal(decide([name, name], false), null);
});

const tree = ["a", "b", "c.log", "d/a", "d/b", "d/c.log", "d/e/a", "d/e/f/b", "x/a", "x/c.log", "x/d/a"];

Deno.test({
  ...needsPrograms(["git"], "a walk passes over what git ignores, for random rules in two directories"),
  async fn() {
    const part = fc.constantFrom("a", "b", "d", "e", "x", "*", "c.log", "*.log", "?", "[ab]", "**", "d*");
    const rule = fc.tuple(
      fc.constantFrom("", "", "!"),
      fc.constantFrom("", "/"),
      fc.array(part, { minLength: 1, maxLength: 3 }),
      fc.constantFrom("", "/"),
    )
      .map(([mark, anchor, parts, end]) => `${mark}${anchor}${parts.join("/")}${end}`);
    const rules = fc.tuple(fc.constantFrom("", "\ufeff"), fc.array(rule, { maxLength: 4 }))
      .map(([byteOrderMark, lines]) => byteOrderMark + lines.join("\n"));
    await fc.assert(
      fc.asyncProperty(rules, rules, async (top, below) => {
        await withWorkspace(async ({ root, workspace }) => {
          for (const path of tree) {
            mkdirSync(dirname(join(root, path)), { recursive: true });
            writeFileSync(join(root, path), "");
          }
          writeFileSync(join(root, ".gitignore"), top);
          writeFileSync(join(root, "d/.gitignore"), below);
          const start = parseDirectoryPath("");
          assert.ok(start.ok);
          const ignored = await createIgnored(workspace, start.value);
          const found: string[] = [];
          for await (const step of walk(workspace, start.value, { depth: 9, ignored })) {
            if (step.ok && !step.value.isSkipped && step.value.kind === "file") {
              found.push(step.value.segments.join("/"));
            }
          }
          assert.deepEqual(found.sort(), gitFiles(root), JSON.stringify([top, below]));
        });
      }),
      { numRuns: 60 },
    );
  },
});

/** The files that git would add. */
function gitFiles(root: string): string[] {
  const repository = mkdtempSync(join(tmpdir(), "portcullis-git-"));
  try {
    const git = (...args: string[]) => {
      const { stdout, success, stderr } = new Deno.Command("git", {
        args: [`--git-dir=${repository}`, `--work-tree=${root}`, "-c", "core.excludesFile=", ...args],
        cwd: root,
        env: { GIT_CONFIG_NOSYSTEM: "1", HOME: repository },
      }).outputSync();
      assert.ok(success, new TextDecoder().decode(stderr));
      return new TextDecoder().decode(stdout);
    };
    git("init", "-q");
    return git("ls-files", "-z", "--others", "--exclude-standard").split("\0").filter((name) => name !== "").sort();
  } finally {
    rmSync(repository, { recursive: true, force: true });
  }
}

Deno.test("a walk passes over .git, node_modules and ignored entries before they cost a visit, and counts them", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (const directory of [".git/objects", "node_modules/x", "src/node_modules", "logs"]) {
      mkdirSync(join(root, directory), { recursive: true });
      writeFileSync(join(root, directory, "file"), "");
    }
    writeFileSync(join(root, "src/a.ts"), "");
    writeFileSync(join(root, ".gitignore"), "logs\n*.tmp\n");
    writeFileSync(join(root, "src/b.tmp"), "");
    const below = async (text: string) => {
      const start = parseDirectoryPath(text);
      assert.ok(start.ok);
      const ignored = await createIgnored(workspace, start.value);
      const found: string[] = [];
      for await (const step of walk(workspace, start.value, { depth: 9, ignored })) {
        if (step.ok && !step.value.isSkipped) found.push(step.value.segments.join("/")); // some come after a pause
      }
      return { found, ...ignored.skipped };
    };
    assert.deepEqual(await below(""), {
      found: [".gitignore", "src", "src/a.ts"],
      count: 5,
      names: [".git/", "logs/", "node_modules/", "src/node_modules/", "src/b.tmp"],
    });
    assert.deepEqual((await below("src")).found, ["a.ts"]);
    assert.deepEqual((await below("node_modules")).found, ["x", "x/file"], "what is asked for is walked");
    assert.deepEqual((await below("logs")).found, ["file"]);
  }));

Deno.test("rules of nested directories are bounded together: past the bound they are left out", () => {
  const room = { characters: maxRuleCharactersInAll };
  const rules = Array.from({ length: 64 }, () => parseIgnoreRules(`${"?".repeat(200)}b\n`.repeat(300), room));
  assert.ok(room.characters >= 0 && room.characters < 1_000);
  assert.equal(rules.at(-1)?.(["?"], false), null);
  const decide = parseIgnoreRules("a\n", room);
  assert.equal(decide(["a"], false), "ignored");
});
