/**
 * `fetch_downloads.ts base-binaries DIRECTORY`: Deno's base binaries for `DENORT_DIR=DIRECTORY deno task compile`.
 * `fetch_downloads.ts publisher DIRECTORY`: the MCP registry's publisher, unpacked.
 * `fetch_downloads.ts check-bundler`: whether the bundler in Deno's cache is the pinned one.
 */
import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import process from "node:process";
import { targets } from "../compile.ts";
import { downloadPinned, pinnedBundler, pinnedDownloads } from "./pinned_download.ts";

const publisher = "mcp-publisher_linux_amd64.tar.gz";

async function run(command: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args: [...args] }).output();
  if (!success) throw new Error(`${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

async function download(name: string, directory: string): Promise<string> {
  const pin = pinnedDownloads[name];
  if (pin === undefined) throw new Error(`${name} is not in scripts/release/pins.json`);
  return await downloadPinned(name, pin, directory);
}

async function fetchBaseBinaries(directory: string): Promise<void> {
  for (const target of targets) {
    const archive = await download(`denort-${target}.zip`, directory);
    await run("unzip", ["-q", "-o", archive, "-d", join(directory, target)]);
  }
}

/** Throws unless the bundler's cache holds the pinned executable alone. */
async function checkBundler(platform = "linux-x64"): Promise<void> {
  const { denoDir } = JSON.parse(await run(Deno.execPath(), ["info", "--json"])) as { readonly denoDir: string };
  const found: string[] = [];
  for (const { name } of Deno.readDirSync(join(denoDir, "dl"))) {
    if (!name.startsWith("esbuild-")) continue;
    for (const file of Deno.readDirSync(join(denoDir, "dl", name))) found.push(join(denoDir, "dl", name, file.name));
  }
  for (const path of found) {
    const sha256 = createHash("sha256").update(await Deno.readFile(path)).digest("hex");
    if (sha256 !== pinnedBundler.sha256[platform]) throw new Error(`${basename(path)} has the SHA-256 ${sha256}`);
  }
  if (found.length !== 1) throw new Error(`Deno's cache holds ${found.length} bundlers, not one`);
}

const [what, directory = "dist/downloads"] = Deno.args;
switch (what) {
  case "base-binaries":
    await fetchBaseBinaries(directory);
    break;
  case "publisher":
    await run("tar", ["xzf", await download(publisher, directory), "-C", directory, "mcp-publisher"]);
    break;
  case "check-bundler":
    await checkBundler();
    break;
  default:
    process.stderr.write("error: say base-binaries, publisher or check-bundler\n");
    process.exit(2);
}
