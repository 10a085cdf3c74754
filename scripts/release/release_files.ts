/**
 * `deno task release files --repository OWNER/NAME [--dist DIRECTORY]`: makes a release's files from the programs of
 * `deno task compile --target all`: archives of them with their licences, MCPB bundles, the bill of materials, the
 * notices and the checksums of all these in DIRECTORY/assets, the registry entry beside it. Nothing is uploaded.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import manifest from "../../deno.json" with { type: "json" };
import { root } from "../bundle.ts";
import { binaryName, targets } from "../compile.ts";
import { makeArchive } from "./archive.ts";
import { makeBundle } from "./mcpb.ts";
import { licensedPackages, noticesName, thirdPartyNotices } from "./notices.ts";
import { registryEntry } from "./registry_entry.ts";
import { billOfMaterials } from "./sbom.ts";

/** Writes the files and gives the names of those that are attached to the release. Throws when a program is missing. */
export async function makeReleaseFiles(
  options: { readonly dist: string; readonly repository: string; readonly denoVersion: string },
): Promise<string[]> {
  const { dist, repository, denoVersion } = options;
  const { version } = manifest;
  const assets = join(dist, "assets");
  await Deno.mkdir(assets, { recursive: true });
  const lockFile = await Deno.readTextFile(join(root, "deno.lock"));
  const packages = await licensedPackages(lockFile);
  const license = await Deno.readFile(join(root, "LICENSE"));
  const notices = new TextEncoder().encode(thirdPartyNotices(packages, denoVersion));
  const sums: Record<string, string> = {};
  const add = async (name: string, bytes: Uint8Array): Promise<string> => {
    await Deno.writeFile(join(assets, name), bytes);
    return sums[name] = sha256(bytes);
  };
  const bundles: Record<string, string> = {};
  for (const target of targets) {
    const program = await Deno.readFile(join(dist, binaryName(target)));
    const archive = makeArchive({ target, program, license, notices });
    await add(archive.name, archive.bytes);
    const name = `portcullis-${target}.mcpb`;
    const repositoryUrl = `https://github.com/${repository}`;
    bundles[name] = await add(name, makeBundle({ version, repositoryUrl, target, program, license, notices }));
  }
  await add(noticesName, notices);
  await add("portcullis.cdx.json", json(billOfMaterials({ version, denoVersion, lockFile, packages })));
  await Deno.writeFile(join(dist, "server.json"), json(registryEntry({ version, repository, bundles })));
  const names = Object.keys(sums).sort();
  await Deno.writeTextFile(join(assets, "SHA256SUMS"), names.map((name) => `${sums[name]}  ${name}\n`).join(""));
  return [...names, "SHA256SUMS"];
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function json(value: object): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value, null, 2) + "\n");
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { repository: { type: "string" }, dist: { type: "string", default: join(root, "dist") } },
  });
  if (values.repository === undefined || !/^[\w.-]+\/[\w.-]+$/.test(values.repository)) {
    process.stderr.write("error: --repository must be OWNER/NAME\n");
    process.exit(2);
  }
  const { dist, repository } = values;
  const files = await makeReleaseFiles({ dist, repository, denoVersion: Deno.version.deno });
  process.stdout.write(files.map((name) => `${join(dist, "assets", name)}\n`).join(""));
}
