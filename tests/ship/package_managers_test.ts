/** What package managers read, held against their schemas and by their own programs where the machine has them. */
import assert from "node:assert/strict";
import { parse } from "yaml";
import { z } from "zod";
import { root } from "../../scripts/bundle.ts";
import { targets } from "../../scripts/compile.ts";
import { datedChangelog, isVersion, readmeWithInstall, releaseNotes } from "../../scripts/release/notes.ts";
import { packageManifests } from "../../scripts/release/package_managers.ts";
import { needsPrograms } from "../fixtures/skipped_unless.ts";

const archives = Object.fromEntries(targets.map((target, index) => [target, `${index}1`.repeat(32)]));
const manifests = packageManifests({ version: "1.2.3", repository: "Someone/portcullis", archives });
const address =
  /^https:\/\/github\.com\/Someone\/portcullis\/releases\/download\/v1\.2\.3\/portcullis-[\w-]+\.(zip|tar\.gz)$/;
const text = (most: number) => z.string().min(2).max(most);

/** winget's schemas of 1.10.0, as far as ours goes: each object has these fields and no others. */
const winget = {
  PackageIdentifier: z.string().max(128).regex(/^[^.\s\\/:*?"<>|]{1,32}(\.[^.\s\\/:*?"<>|]{1,32}){1,7}$/),
  PackageVersion: z.string().max(128).regex(/^[^\\/:*?"<>|]+$/),
  ManifestVersion: z.string().regex(/^(0|[1-9]\d{0,4})(\.(0|[1-9]\d{0,4})){2}$/),
};
const wingetSchemas: Readonly<Record<string, z.ZodType>> = {
  "Portcullis.yaml": z.strictObject({
    ...winget,
    DefaultLocale: z.literal("en-US"),
    ManifestType: z.literal("version"),
  }),
  "Portcullis.installer.yaml": z.strictObject({
    ...winget,
    InstallerType: z.literal("zip"),
    NestedInstallerType: z.literal("portable"),
    NestedInstallerFiles: z.array(
      z.strictObject({ RelativeFilePath: text(512), PortableCommandAlias: z.string().max(40) }),
    ).min(1),
    Installers: z.array(
      z.strictObject({
        Architecture: z.enum(["x86", "x64", "arm", "arm64", "neutral"]),
        InstallerUrl: z.string().regex(address),
        InstallerSha256: z.string().regex(/^[A-F0-9]{64}$/),
      }),
    ).length(2),
    ManifestType: z.literal("installer"),
  }),
  "Portcullis.locale.en-US.yaml": z.strictObject({
    ...winget,
    PackageLocale: z.literal("en-US"),
    Publisher: text(256),
    PackageName: text(256),
    PackageUrl: z.url(),
    License: z.string().min(3).max(512),
    LicenseUrl: z.url(),
    ShortDescription: z.string().min(3).max(256),
    Moniker: z.string().max(40),
    ReleaseNotesUrl: z.url(),
    ManifestType: z.literal("defaultLocale"),
  }),
};

const scoopSchema = z.strictObject({
  version: z.string().regex(/^[\w.\-+_]+$/),
  description: z.string(),
  homepage: z.url(),
  license: z.string(),
  architecture: z.strictObject({
    "64bit": z.strictObject({ url: z.string().regex(address), hash: z.string().regex(/^[a-f0-9]{64}$/) }),
    arm64: z.strictObject({ url: z.string().regex(address), hash: z.string().regex(/^[a-f0-9]{64}$/) }),
  }),
  bin: z.literal("portcullis.exe"),
  checkver: z.literal("github"),
  autoupdate: z.strictObject({
    architecture: z.record(z.enum(["64bit", "arm64"]), z.strictObject({ url: z.string().includes("$version") })),
    hash: z.strictObject({ url: z.literal("$baseurl/SHA256SUMS") }),
  }),
});

Deno.test("winget's manifests keep its schemas, one file each for version, installers and words", () => {
  const files = Object.entries(manifests).filter(([path]) => path.startsWith("winget/"));
  assert.equal(files.length, Object.keys(wingetSchemas).length);
  for (const [path, contents] of files) {
    const [, name = ""] = /^winget\/manifests\/s\/Someone\/Portcullis\/1\.2\.3\/Someone\.(.*)$/.exec(path) ?? [];
    const checked = wingetSchemas[name]?.safeParse(parse(contents));
    assert.ok(checked?.success, `${path}: ${checked?.error?.message}`);
    const [, schema = ""] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(contents) ?? [];
    assert.ok(schema.includes(parse(contents).ManifestType), path);
  }
});

Deno.test("Scoop's manifest keeps its schema", () => {
  const checked = scoopSchema.safeParse(JSON.parse(manifests["scoop/portcullis.json"] ?? ""));
  assert.ok(checked.success, checked.error?.message);
});

Deno.test("each manifest names the archives of its systems with their digests, and no other", () => {
  const systems: Readonly<Record<string, RegExp>> = {
    "homebrew/portcullis.rb": /apple|linux/,
    "nix/flake.nix": /apple|linux/,
    "scoop/portcullis.json": /windows/,
  };
  for (const [path, expected] of Object.entries(systems)) {
    for (const [target, digest] of Object.entries(archives)) {
      const near = new RegExp(`portcullis-${target}\\.[\\s\\S]{0,60}${digest}`);
      assert.equal(near.test(manifests[path] ?? ""), expected.test(target), `${path} ${target}`);
    }
  }
});

/** What a program says of a manifest, whose path takes the place of FILE. */
async function saidOf(path: string, command: string, ...args: readonly string[]): Promise<string> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-manifest-" });
  try {
    const file = `${directory}/${path.replace(/^.*\//, "")}`;
    await Deno.writeTextFile(file, manifests[path] ?? "");
    const words = args.map((each) => each.replaceAll("FILE", file));
    const { success, stdout, stderr } = await new Deno.Command(command, { args: words }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** What a system has to download: address and digest. */
function downloadOf(target: string): string {
  return `https://github.com/Someone/portcullis/releases/download/v1.2.3/portcullis-${target}.tar.gz ${
    archives[target]
  }`;
}

/** As much of Homebrew's language as the formula uses, for the system of its first two words. */
const homebrew = `
$system, $processor = ARGV
class Formula
  class << self
    %w[desc homepage version license].each { |name| define_method(name) { |*words| words.first or "1.2.3" } }
    %w[macos linux].each { |name| define_method("on_#{name}") { |&block| block.call if $system == name } }
    %w[arm intel].each { |name| define_method("on_#{name}") { |&block| block.call if $processor == name } }
    def url(address) = print(address, " ")
    def sha256(digest) = puts(digest)
    def service = nil
    def test = nil
  end
  def bin = Class.new { def install(name) = puts(name) }.new
end
load ARGV[2]
Portcullis.new.install
`;

Deno.test({
  ...needsPrograms(["ruby"], "Ruby runs the Homebrew formula: each system gets its own archive, and one program"),
  fn: async () => {
    const systems = {
      "macos arm": "aarch64-apple-darwin",
      "macos intel": "x86_64-apple-darwin",
      "linux arm": "aarch64-unknown-linux-gnu",
      "linux intel": "x86_64-unknown-linux-gnu",
    };
    for (const [system, target] of Object.entries(systems)) {
      const said = await saidOf("homebrew/portcullis.rb", "ruby", "-W2", "-e", homebrew, ...system.split(" "), "FILE");
      assert.equal(said, `${downloadOf(target)}\nportcullis\n`);
    }
  },
});

/** As much of nixpkgs as the flake uses: a package says what it is made of. */
const nixpkgs = `
let
  packagesOf = system: {
    fetchurl = { url, sha256 }: "\${url} \${sha256}";
    stdenvNoCC.mkDerivation = { pname, version, src, ... }: "\${pname}-\${version} of \${src}";
    stdenv = { hostPlatform.isLinux = builtins.match ".*-linux" system != null; cc.cc.lib = "libraries"; };
    buildFHSEnv = { pname, version, targetPkgs, runScript }:
      "\${builtins.toString (targetPkgs (packagesOf system))} around \${runScript}";
  };
  nixpkgs.legacyPackages = builtins.listToAttrs (map (name: { inherit name; value = packagesOf name; })
    [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ]);
in builtins.mapAttrs (_: package: package.default) ((import FILE).outputs { self = { }; inherit nixpkgs; }).packages
`;

Deno.test({
  ...needsPrograms(
    ["nix-instantiate"],
    "Nix evaluates the flake: each system gets its own archive, Linux a loader for it",
  ),
  fn: async () => {
    const asked = ["--store", "dummy://", "--eval", "--strict", "--json", "--expr", nixpkgs];
    const packages = JSON.parse(await saidOf("nix/flake.nix", "nix-instantiate", ...asked));
    const program = (target: string): string => `portcullis-program-1.2.3 of ${downloadOf(target)}`;
    assert.deepEqual(packages, {
      "aarch64-darwin": program("aarch64-apple-darwin"),
      "aarch64-linux": `libraries around ${program("aarch64-unknown-linux-gnu")}/bin/portcullis`,
      "x86_64-darwin": program("x86_64-apple-darwin"),
      "x86_64-linux": `libraries around ${program("x86_64-unknown-linux-gnu")}/bin/portcullis`,
    });
  },
});

Deno.test("a release dates the changelog once, and its notes are that version's section", () => {
  const changelog = "# Changelog\n\n## Unreleased\n\n- New: a.\n\n## 1.0.0 (2026-01-01)\n\n- Old.\n";
  const dated = datedChangelog(changelog, "1.2.3", "2026-12-01");
  assert.equal(dated, changelog.replace("Unreleased", "1.2.3 (2026-12-01)"));
  assert.equal(datedChangelog(dated, "1.2.3", "2027-01-01"), dated);
  assert.equal(releaseNotes(dated, "1.2.3"), "- New: a.");
  assert.equal(releaseNotes(dated, "1.0.0"), "- Old.");
  assert.throws(() => releaseNotes(dated, "1.2.4"), /no section for 1\.2\.4/);
  assert.throws(() => datedChangelog(dated, "1.2.4", "2027-01-01"), /no "## Unreleased"/);
  for (const version of ["1.2.3", "1.2.3-rc.1"]) assert.ok(isVersion(version));
  for (const version of ["v1.2.3", "1.2", "1.2.3+build", "--pin"]) assert.ok(!isVersion(version), version);
});

Deno.test("a release writes its lines above README's two commands once, and anew at the next one", async () => {
  const readme = await Deno.readTextFile(`${root}README.md`);
  const released = readmeWithInstall(readme, "Someone/portcullis");
  assert.equal(readmeWithInstall(released, "Someone/portcullis"), released);
  const moved = readmeWithInstall(released, "Other/portcullis");
  assert.ok(!moved.includes("Someone/") && moved.includes("https://github.com/Other/portcullis/releases/latest/"));
  const order = ["npx -y portcullis-mcp", "install.sh | sh", "install.ps1 | iex", "deno task start", "npx -y deno@"];
  const places = order.map((each) => released.indexOf(each));
  assert.deepEqual(places, places.toSorted((a, b) => a - b), "the shortest first, source last");
  assert.ok(places.every((place) => place > 0));
});
