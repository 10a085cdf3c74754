/**
 * `deno task compile [--target T | --target all] [--out DIRECTORY] [--checked]`: bundles the program and compiles the
 * bundle, for this machine or for others, with the permissions that it needs and no others. Deno downloads a base binary
 * for each; `--checked` downloads them first and compares their checksums. COMPILE_DENO names another Deno to compile with.
 */
import { join, relative } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import manifest from "../deno.json" with { type: "json" };
import { heapFlag, libraryFlag } from "../src/lib/start_flags.ts";
import { bundleProgram, commitOfSources, namedModules, programName, root } from "./bundle.ts";
import { bundledFiles } from "./bundler.ts";

/** What a release is compiled for; Deno itself has no others. */
export const targets: readonly string[] = ["unknown-linux-gnu", "apple-darwin", "pc-windows-msvc"]
  .flatMap((system) => [`x86_64-${system}`, `aarch64-${system}`]);

/** The name of a compiled program. */
export function binaryName(target: string | null): string {
  const windows = target === null ? process.platform === "win32" : target.includes("windows");
  return `portcullis${target === null ? "" : `-${target}`}${windows ? ".exe" : ""}`;
}

/**
 * What the program may do. Paths and addresses are settings, so reading, writing and the network are open here; it
 * starts no process, and loads the C library alone, for the kernel to confine the workspace. The environment is open for
 * the names of mistyped settings: a server gives it up before it answers.
 */
export function compiledPermissions(): string[] {
  return [
    "--no-prompt",
    "--allow-net",
    "--allow-env",
    "--allow-read",
    "--allow-write",
    "--allow-sys=homedir,statfs,uid,gid",
    libraryFlag,
  ];
}

/** The features of Deno that the program turns on. */
export const unstableFlags: readonly string[] = manifest.unstable.map((feature) => `--unstable-${feature}`);

/** How Deno compiles the bundle, or starts it: with what is in it alone. */
export function bundleFlags(): readonly string[] {
  const closed = ["--no-config", "--no-lock", "--no-remote", "--no-npm"];
  return [...closed, heapFlag, ...unstableFlags, ...compiledPermissions()];
}

/** Bundles once and compiles for each target; `null` is this machine. Gives the programs' paths. */
export async function compileProgram(
  outDirectory: string,
  compileFor: readonly (string | null)[],
): Promise<string[]> {
  const bundle = join(outDirectory, "bundle");
  await Deno.remove(bundle, { recursive: true }).catch(() => {}); // pieces of an earlier one
  await bundleProgram(bundle, await commitOfSources());
  // The program holds the times of the files in it: the same bytes need the same times.
  for (const path of await bundledFiles(bundle)) await Deno.utime(path, 0, 0);
  const paths: string[] = [];
  for (const target of compileFor) {
    const path = join(outDirectory, binaryName(target));
    const { success, stderr } = await new Deno.Command(process.env["COMPILE_DENO"] || Deno.execPath(), {
      args: [
        "compile",
        ...["--quiet", "--no-check"],
        // The cache lies in the temporary directory under a name that can be foretold, and its owner is not looked at:
        // another user of the machine could put code there that the program would run.
        "--no-code-cache",
        ...bundleFlags(),
        ...(target === null ? [] : ["--target", target]),
        ...namedModules.flatMap((name) => ["--include", join(bundle, name)]),
        ...["--output", path, join(bundle, programName)],
      ],
      stdout: "null",
    }).output();
    if (!success) throw new Error(`deno compile: ${new TextDecoder().decode(stderr)}`);
    paths.push(path);
  }
  return paths;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      target: { type: "string", multiple: true, default: [] },
      out: { type: "string", default: join(root, "dist") },
      checked: { type: "boolean", default: false },
    },
  });
  const asked = values.target.includes("all") ? targets : values.target;
  const unknown = asked.filter((target) => !targets.includes(target));
  if (unknown.length > 0) {
    process.stderr.write(`error: unknown target ${unknown.join(", ")}\nhint: all, or ${targets.join(", ")}\n`);
    process.exit(2);
  }
  if (values.checked) await (await import("./release/base_binaries.ts")).downloadBaseBinaries(asked);
  for (const path of await compileProgram(values.out, asked.length === 0 ? [null] : asked)) {
    const { size } = await Deno.stat(path);
    process.stdout.write(`${relative(process.cwd(), path)}  ${(size / 1e6).toFixed(1)} MB\n`);
  }
}
