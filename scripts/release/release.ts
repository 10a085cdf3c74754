/**
 * `deno task release VERSION`: makes a release on a maintainer's machine, or in the workflow, which runs the same steps:
 *
 *   prepare    the version in deno.json, the changelog's heading, README's first lines: in one commit of their own
 *   pins       everything that is taken from elsewhere is pinned
 *   gate       the whole of the tests
 *   programs   six compiled programs, from checked base binaries
 *   files      archives, bundles, npm package, install scripts, manifests, checksums
 *   image      the container's image for two processors, as dist/image.tar
 *
 * `--only STEP,STEP` runs these alone, `--target T` compiles for that one alone. Nothing is uploaded: scripts/release/publish.sh does that, step by step.
 * `deno task release --pin` pins what has no digest yet.
 */
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import manifest from "../../deno.json" with { type: "json" };
import { commitOfSources, root } from "../bundle.ts";
import { binaryName, compileProgram, targets } from "../compile.ts";
import { downloadBaseBinaries } from "./base_binaries.ts";
import { datedChangelog, isVersion, readmeWithInstall, releaseNotes } from "./notes.ts";
import { checkBundler, findUnpinned, pinDownloads } from "./pins.ts";
import { registryName } from "./registry_entry.ts";
import { makeReleaseFiles } from "./release_files.ts";

interface Release {
  readonly version: string;
  readonly repository: string;
  readonly dist: string;
  readonly targets: readonly string[];
}

/** What ends a release with a word for the maintainer, and no stack. */
class Refusal extends Error {}

/** What a release consists of, in this order. */
export const steps: Readonly<Record<string, (release: Release) => Promise<void>>> = {
  prepare,
  pins: requirePins,
  gate: () => run("bash", [".ci/run", "full"]),
  programs: makePrograms,
  files: makeFiles,
  image: makeImage,
};

/** In the workflow the tag's commit has to be prepared already; on a maintainer's machine it is made. */
async function prepare({ version, repository }: Release): Promise<void> {
  if (await output("git", ["status", "--porcelain"]) !== "") throw new Refusal("commit or stash your changes first");
  const date = new Date().toISOString().slice(0, 10);
  const changed: string[] = [];
  const change = async (name: string, edit: (text: string) => string): Promise<void> => {
    const text = await Deno.readTextFile(join(root, name));
    const edited = edit(text);
    if (edited === text) return;
    await Deno.writeTextFile(join(root, name), edited);
    changed.push(name);
  };
  await change("deno.json", (text) => text.replace(/^ {2}"version": ".*"/m, `  "version": "${version}"`));
  await change("CHANGELOG.md", (text) => datedChangelog(text, version, date));
  await change("README.md", (text) => readmeWithInstall(text, repository));
  await change("docs/install.md", (text) => text.replaceAll("OWNER/NAME", repository));
  if (changed.length === 0) return;
  if (process.env["CI"]) throw new Refusal(`${changed.join(", ")} do not say ${version}: run this step before the tag`);
  await run("git", ["commit", "--quiet", "--message", `release: ${version}`, "--", ...changed]);
  say(`committed ${changed.join(", ")} as "release: ${version}"`);
}

async function requirePins({ targets }: Release): Promise<void> {
  const missing = await findUnpinned(targets);
  if (missing.length > 0) throw new Refusal(["not everything is pinned:", ...missing].join("\n  "));
}

async function makePrograms({ dist, targets }: Release): Promise<void> {
  await downloadBaseBinaries(targets);
  await run(Deno.execPath(), ["install", "--quiet", "--frozen"]);
  for (const path of await compileProgram(dist, targets)) say(path);
  await checkBundler();
  const tried = `${Deno.build.arch}-unknown-linux-gnu`;
  if (Deno.build.os !== "linux" || !targets.includes(tried)) {
    return say("the end-to-end suite runs on Linux alone: not tried");
  }
  await run(Deno.execPath(), ["task", "end-to-end", "binary", "--core", "--program", join(dist, binaryName(tried))]);
}

async function makeFiles({ dist, version, repository }: Release): Promise<void> {
  const notes = releaseNotes(await Deno.readTextFile(join(root, "CHANGELOG.md")), version);
  const names = await makeReleaseFiles({ dist, version, repository, denoVersion: Deno.version.deno });
  const verify = `Verify a download with: gh attestation verify FILE --repo ${repository}`;
  await Deno.writeTextFile(join(dist, "notes.md"), `${notes}\n\n${verify}\n`);
  for (const name of names) say(join(dist, "assets", name));
}

/** With Docker's buildx, provenance and a bill of materials for each processor; with buildah, this machine's alone. */
async function makeImage({ dist, version, repository }: Release): Promise<void> {
  const commit = (await commitOfSources() ?? "").replace(/,.*/, "");
  const labels = {
    "io.modelcontextprotocol.server.name": registryName(repository), // the registry compares it with its entry
    "org.opencontainers.image.source": `https://github.com/${repository}`,
    "org.opencontainers.image.version": version,
    "org.opencontainers.image.revision": commit,
    "org.opencontainers.image.licenses": "MIT",
  };
  const described = Object.entries(labels).flatMap(([name, value]) => ["--label", `${name}=${value}`]);
  const args = ["--build-arg", `COMMIT=${commit}`, ...described];
  const image = join(dist, "image.tar");
  await Deno.mkdir(dist, { recursive: true });
  if (await succeeds("docker", ["buildx", "inspect"])) {
    const scanner =
      "docker/buildkit-syft-scanner:1.11.0@sha256:79e7b013cbec16bbb436f312819a49a4a57752b2270c1a9332ae1a10fcc82a68";
    const attested = ["--provenance", "mode=max", `--sbom=generator=${scanner}`];
    const to = ["--platform", "linux/amd64,linux/arm64", "--output", `type=oci,dest=${image}`];
    await run("docker", ["buildx", "build", ...to, ...attested, ...args, "."]);
  } else if (await succeeds("buildah", ["--version"])) {
    say("without Docker's buildx: an image for this machine's processor alone, to try and not to publish");
    const bases = process.env["PORTCULLIS_IMAGE"] === "local" ? ["BUILD", "RUNTIME"] : []; // of scripts/build_image.sh
    const local = bases.flatMap((base) => [
      "--build-arg",
      `${base}_IMAGE=localhost/portcullis-${base.toLowerCase()}`,
    ]);
    const name = "localhost/portcullis-release";
    await run("buildah", ["build", "--quiet", "--format", "oci", ...local, ...args, "--tag", name, "."]);
    await run("buildah", ["push", "--quiet", name, `oci-archive:${image}`]);
  } else throw new Refusal("neither Docker's buildx nor buildah is on this machine");
  say(image);
}

function say(line: string): void {
  process.stdout.write(`  ${line}\n`);
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const { code } = await new Deno.Command(command, { args: [...args], cwd: root, stdin: "null" }).spawn().status;
  if (code !== 0) throw new Refusal(`${command} ${args.join(" ")} ended with ${code}`);
}

async function output(command: string, args: readonly string[]): Promise<string> {
  const { success, stdout } = await new Deno.Command(command, { args: [...args], cwd: root, stderr: "inherit" })
    .output();
  if (!success) throw new Refusal(`${command} ${args.join(" ")} failed`);
  return new TextDecoder().decode(stdout).trim();
}

async function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  const quiet = { stdout: "null", stderr: "null" } as const;
  return await new Deno.Command(command, { args: [...args], ...quiet }).output().then(
    ({ success }) => success,
    () => false,
  );
}

/** `owner/name` of the clone's origin on GitHub, or of the workflow that runs. */
async function repositoryOfClone(): Promise<string | undefined> {
  if (process.env["GITHUB_REPOSITORY"]) return process.env["GITHUB_REPOSITORY"];
  const url = await output("git", ["remote", "get-url", "origin"]).catch(() => "");
  return /github\.com[/:]([\w.-]+\/[\w.-]+?)(?:\.git)?$/.exec(url)?.[1];
}

async function release(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      pin: { type: "boolean", default: false },
      only: { type: "string" },
      repository: { type: "string" },
      target: { type: "string", multiple: true },
      dist: { type: "string", default: join(root, "dist") },
    },
  });
  if (values.pin) {
    const pinned = await pinDownloads(undefined, say);
    if (pinned.length === 0) return say("everything that is downloaded is pinned");
    return say("commit scripts/release/pins.json: git commit -m 'release: pin downloads' scripts/release/pins.json");
  }
  const [version = ""] = positionals;
  if (positionals.length !== 1 || !isVersion(version)) {
    throw new Refusal(`name one version, for example: deno task release ${manifest.version}`);
  }
  const names = values.only?.split(",") ?? Object.keys(steps);
  const unknown = names.find((name) => !Object.hasOwn(steps, name));
  if (unknown !== undefined) throw new Refusal(`there is no step ${unknown}: ${Object.keys(steps).join(", ")}`);
  const repository = values.repository ?? await repositoryOfClone();
  if (repository === undefined || !/^[\w.-]+\/[\w.-]+$/.test(repository)) {
    throw new Refusal("name the repository on GitHub: --repository OWNER/NAME");
  }
  for (const [done, name] of names.entries()) {
    process.stdout.write(`release ${version}: ${name} (${done + 1} of ${names.length})\n`);
    await steps[name]?.({ version, repository, dist: values.dist, targets: values.target ?? targets });
  }
  process.stdout.write(
    `release ${version}: ${names.join(", ")} done\n` +
      (values.only === undefined
        ? `next: git tag v${version} && git push origin HEAD v${version}, and the workflow publishes it; or, from here,\n` +
          `      VERSION=${version} REPOSITORY=${repository} scripts/release/publish.sh STEP for each of image, release, npm, registry\n`
        : ""),
  );
}

if (import.meta.main) {
  try {
    await release(Deno.args);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    process.stderr.write(`error: ${error.message}\n`);
    process.exit(1);
  }
}
