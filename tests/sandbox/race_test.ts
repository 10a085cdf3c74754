/**
 * A process that swaps directories and files for links while the workspace is read and written: bench/workspace_race.ts
 * counts what escapes. In the modes that claim to be race-free nothing does; in the portable one the share is printed.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { whereKernelConfines } from "../fixtures/confining_kernel.ts";
import { withFileServer } from "../fixtures/file_server.ts";
import { ownMounts } from "../fixtures/own_mounts.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";

const millisecondsEach = 300;
const program = fileURLToPath(new URL("../../bench/workspace_race.ts", import.meta.url));
const mountSkipped = ownMounts === null ? " (skipped: this machine lets nobody mount)" : "";

interface Line {
  readonly what: string;
  readonly tries: number;
  readonly escaped: number;
  readonly inside: number;
}

async function race(mode: string, ...variant: readonly string[]): Promise<readonly Line[]> {
  const args = ["run", "-A", "--no-check", program, `${millisecondsEach}`, mode, ...variant];
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  const text = new TextDecoder().decode(stdout);
  assert.ok(success && text !== "", new TextDecoder().decode(stderr));
  const lines: readonly Line[] = text.trim().split("\n").map((line) => JSON.parse(line));
  assert.equal(lines.length, 14);
  assert.ok(lines.every(({ tries }) => tries > 0));
  return lines;
}

function escapedOf(lines: readonly Line[]): readonly string[] {
  return lines.filter(({ escaped }) => escaped > 0).map(({ what }) => what);
}

Deno.test("a racing writer, portable checks: a read without them is deceived, and the measured share with them is printed", async () => {
  const [plain, ...checked] = await race("portable");
  assert.ok(plain !== undefined && plain.escaped > 0, "nobody raced");
  for (const { what, tries, escaped } of [plain, ...checked]) {
    process.stdout.write(`${what}: ${escaped} of ${tries} escaped (${(escaped / tries * 100).toFixed(3)} %)\n`);
  }
});

for (
  const [pause, way, workspaces] of [
    ["0", "", "shared"],
    ["2", "reversed", "per-user"],
    ["20", "", "per-user"],
    ["200", "reversed", "shared"],
    ["2000", "", "shared"],
  ] as const
) {
  const pace = `${pause} \u00b5s between renames${way === "" ? "" : `, ${way}`}, ${workspaces}`;
  Deno.test({
    ...skippedUnless(
      ...whereKernelConfines,
      `a racing writer, names resolved by the kernel: nothing outside is read, listed, made or changed (${pace})`,
    ),
    async fn() {
      const [plain, ...confined] = await race("kernel", pause, way, workspaces);
      assert.ok(plain !== undefined && plain.escaped > 0, "no other process raced");
      assert.deepEqual(escapedOf(confined), []);
      process.stdout.write(`${confined.reduce((sum, { tries }) => sum + tries, 0)} tries\n`);
    },
  });
}

Deno.test({
  name:
    `a racing writer, workspace on a file system of its own: no content outside is read, changed or deleted${mountSkipped}`,
  ignore: ownMounts === null,
  async fn() {
    const [plain, ...checked] = await race("own_mount");
    assert.ok(plain !== undefined && plain.escaped > 0, "nobody raced");
    // what these do besides to names outside, `doctor` says: an empty directory made, a file given another name
    const names = ["list", "move", "make a directory"];
    assert.deepEqual(escapedOf(checked).filter((what) => !names.includes(what)), []);
    process.stdout.write(`${checked.reduce((sum, { tries }) => sum + tries, 0)} tries\n`);
  },
});

Deno.test({
  ...skippedUnless(
    ...whereKernelConfines,
    "a racing writer against the server, over HTTP: nothing outside is told or changed",
  ),
  fn: () =>
    withFileServer({
      program: "main.ts",
      fill(root) {
        for (const directory of [`${root}/d`, `${root}/../outside`]) Deno.mkdirSync(directory);
        for (const path of ["d/f", "g"]) Deno.writeTextFileSync(`${root}/${path}`, "inside");
        for (const name of ["f", "SECRET-NAME"]) Deno.writeTextFileSync(`${root}/../outside/${name}`, "SECRET");
        Deno.symlinkSync("../outside", `${root}/link`);
        Deno.symlinkSync("../outside/f", `${root}/file-link`);
      },
    }, async ({ call, root }) => {
      const swapper = new Deno.Command(Deno.execPath(), { args: ["run", "-A", "--no-check", program, "swap", root] })
        .spawn();
      try {
        const calls: readonly (readonly [string, Record<string, unknown>])[] = [
          ["file_read", { filename: "d/f" }],
          ["file_read", { filename: "g" }],
          ["file_read", { filename: "d/f", files: ["d/SECRET-NAME", "g"] }],
          ["file_list", { path: "d" }],
          ["file_search", { query: "SECRET" }],
          ["file_write", { filename: "d/w", content: "x" }],
          ["file_write", { filename: "d/f", content: "inside" }],
          ["file_write", { filename: "g", content: "x", mode: "append" }],
          ["file_move", { copy: true, filename: "d/SECRET-NAME", destination: "copy", overwrite: true }],
          ["file_move", { filename: "d/SECRET-NAME", destination: "moved", overwrite: true }],
          ["file_delete", { filename: "d/f" }],
          ["file_delete", { filename: "d/SECRET-NAME" }],
          ["file_move", { destination: "d/new" }],
        ];
        for (let round = 0; round < 60; round++) {
          const answers = await Promise.all(calls.map(([tool, input]) => call(tool, input)));
          for (const [index, { text, structured }] of answers.entries()) {
            const told = "files" in (calls[index]?.[1] ?? {}) ? JSON.stringify(structured) : text;
            assert.ok(
              !told.replaceAll("d/SECRET-NAME", "").includes("SECRET"),
              `${JSON.stringify(calls[index])}: ${told}`,
            );
          }
          const names = Array.from(Deno.readDirSync(`${root}/../outside`), ({ name }) => name).sort();
          assert.deepEqual(names, ["SECRET-NAME", "f"]);
          for (const name of names) assert.equal(Deno.readTextFileSync(`${root}/../outside/${name}`), "SECRET");
        }
      } finally {
        swapper.kill("SIGKILL");
        await swapper.status;
      }
    }),
});
