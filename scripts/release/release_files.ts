/**
 * `deno task release-files --repository OWNER/NAME [--dist DIRECTORY]`: makes what a release has beside its programs
 * from the programs of `deno task compile --target all`: MCPB bundles, the bill of materials, the registry entry, the
 * checksums. Nothing is uploaded.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import manifest from "../../deno.json" with { type: "json" };
import { root } from "../bundle.ts";
import { binaryName, targets } from "../compile.ts";
import { makeBundle } from "./mcpb.ts";
import { registryEntry } from "./registry_entry.ts";
import { billOfMaterials } from "./sbom.ts";

/** Writes the files into `dist` and gives their names. Throws when a program is missing. */
export async function makeReleaseFiles(
  options: { readonly dist: string; readonly repository: string; readonly denoVersion: string },
): Promise<string[]> {
  const { dist, repository, denoVersion } = options;
  const { version } = manifest;
  const license = await Deno.readFile(join(root, "LICENSE"));
  const files: string[] = [];
  const sums: Record<string, string> = {};
  const add = async (name: string, bytes: Uint8Array): Promise<void> => {
    await Deno.writeFile(join(dist, name), bytes);
    sums[name] = sha256(bytes);
    files.push(name);
  };
  const bundles: Record<string, string> = {};
  for (const target of targets) {
    const program = await Deno.readFile(join(dist, binaryName(target)));
    sums[binaryName(target)] = sha256(program);
    const name = `portcullis-${target}.mcpb`;
    await add(
      name,
      makeBundle({ version, repositoryUrl: `https://github.com/${repository}`, target, program, license }),
    );
    bundles[name] = sums[name] ?? "";
  }
  const lockFile = await Deno.readTextFile(join(root, "deno.lock"));
  await add("portcullis.cdx.json", json(billOfMaterials({ version, denoVersion, lockFile })));
  await add("server.json", json(registryEntry({ version, repository, bundles })));
  const lines = Object.keys(sums).sort().map((name) => `${sums[name]}  ${name}\n`);
  await Deno.writeTextFile(join(dist, "SHA256SUMS"), lines.join(""));
  return [...files, "SHA256SUMS"];
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
  process.stdout.write(files.map((name) => `${join(dist, name)}\n`).join(""));
}
