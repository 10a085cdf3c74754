/**
 * What a release has beside its programs: archives of them with their licences, MCPB bundles, the npm package, scripts
 * that install, manifests for package managers, the bill of materials, the notices, the registry entry and checksums.
 */
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { root } from "../bundle.ts";
import { binaryName, targets } from "../compile.ts";
import { makeArchive } from "./archive.ts";
import { makeBundle } from "./mcpb.ts";
import { makeNpmPackage } from "./npm_package.ts";
import { licensedPackages, noticesName, thirdPartyNotices } from "./notices.ts";
import { installScripts, packageManifests } from "./package_managers.ts";
import { registryEntry } from "./registry_entry.ts";
import { billOfMaterials } from "./sbom.ts";

/** What a release is made of. */
export interface ReleaseOptions {
  /** Where the programs lie, and the bundle that they were compiled from; gets everything else. */
  readonly dist: string;
  readonly version: string;
  /** `owner/name` on GitHub. */
  readonly repository: string;
  readonly denoVersion: string;
}

/**
 * Writes what is attached to the release into `dist/assets`, and what goes elsewhere beside it: `server.json` for the
 * registry of MCP servers, `npm/` and `packages/`. Gives the attached files' names. Throws when a program is missing.
 */
export async function makeReleaseFiles(options: ReleaseOptions): Promise<string[]> {
  const { dist, version, repository, denoVersion } = options;
  const lockFile = await Deno.readTextFile(join(root, "deno.lock"));
  const packages = await licensedPackages(lockFile);
  const license = await Deno.readFile(join(root, "LICENSE"));
  const notices = encode(thirdPartyNotices(packages, denoVersion));
  const sums: Record<string, string> = {};
  const attach = async (name: string, bytes: Uint8Array): Promise<string> => {
    await write(join(dist, "assets", name), bytes);
    return sums[name] = sha256(bytes);
  };
  await Deno.remove(join(dist, "assets"), { recursive: true }).catch(() => {}); // of an earlier try
  const bundles: Record<string, string> = {};
  const archives: Record<string, string> = {};
  for (const target of targets) {
    const program = await Deno.readFile(join(dist, binaryName(target)));
    const archive = makeArchive({ target, program, license, notices });
    archives[target] = await attach(archive.name, archive.bytes);
    const name = `portcullis-${target}.mcpb`;
    const repositoryUrl = `https://github.com/${repository}`;
    bundles[name] = await attach(name, makeBundle({ version, repositoryUrl, target, program, license, notices }));
  }
  const template = (name: string): Promise<string> => Deno.readTextFile(new URL(name, import.meta.url));
  const templates = { sh: await template("install.sh"), ps1: await template("install.ps1") };
  const release = { version, repository, archives };
  for (const [name, text] of Object.entries(installScripts(templates, release))) await attach(name, encode(text));
  await attach(noticesName, notices);
  await attach("portcullis.cdx.json", json(billOfMaterials({ version, denoVersion, lockFile, packages })));
  const npm = await makeNpmPackage({ ...options, bundle: join(dist, "bundle"), license, notices });
  await write(join(dist, "npm", npm.name), npm.bytes);
  for (const [path, text] of Object.entries(packageManifests(release))) {
    await write(join(dist, "packages", path), encode(text));
  }
  await write(join(dist, "server.json"), json(registryEntry({ version, repository, bundles })));
  const names = Object.keys(sums).sort();
  await write(join(dist, "assets", "SHA256SUMS"), encode(names.map((name) => `${sums[name]}  ${name}\n`).join("")));
  return [...names, "SHA256SUMS"];
}

async function write(path: string, bytes: Uint8Array): Promise<void> {
  await Deno.mkdir(dirname(path), { recursive: true });
  await Deno.writeFile(path, bytes);
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function json(value: object): Uint8Array {
  return encode(JSON.stringify(value, null, 2) + "\n");
}
