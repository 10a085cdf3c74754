/** What package managers install a release by: a Homebrew formula, manifests for Scoop and winget, a Nix flake. */
import { npmPackageName } from "../../src/lib/program_name.ts";

/** What they are made of. */
export interface PackagedRelease {
  readonly version: string;
  /** `owner/name` on GitHub. */
  readonly repository: string;
  /** SHA-256 in hex of the archive for each target. */
  readonly archives: Readonly<Record<string, string>>;
}

const description = "MCP server with its own sign-in: files, a local model, ServiceNow";

/** Each file's text by its path below the directory of packages. */
export function packageManifests(release: PackagedRelease): Readonly<Record<string, string>> {
  return {
    "homebrew/portcullis.rb": homebrewFormula(release),
    "scoop/portcullis.json": JSON.stringify(scoopManifest(release), null, 4) + "\n",
    ...wingetManifests(release),
    "nix/flake.nix": nixFlake(release),
  };
}

/** The scripts that people pipe into a shell, with the digests of what they download. */
export function installScripts(
  templates: { readonly sh: string; readonly ps1: string },
  release: PackagedRelease,
): Readonly<Record<string, string>> {
  const digests = Object.entries(release.archives);
  const fill = (template: string, lines: readonly string[]): string =>
    template.replaceAll("@VERSION@", release.version).replaceAll("@REPOSITORY@", release.repository)
      .replaceAll("@NPM_PACKAGE@", npmPackageName).replace(/^ *# @SHA256_BY_TARGET@$/m, lines.join("\n"));
  const unix = digests.filter(([target]) => !isWindows(target)).map(([target, digest]) =>
    `    ${target}) echo ${digest} ;;`
  );
  const windows = digests.filter(([target]) => isWindows(target))
    .map(([target, digest]) => `        '${target}' = '${digest}'`);
  return { "install.sh": fill(templates.sh, unix), "install.ps1": fill(templates.ps1, windows) };
}

function isWindows(target: string): boolean {
  return target.includes("windows");
}

function archiveUrl({ version, repository }: PackagedRelease, target: string): string {
  return `https://github.com/${repository}/releases/download/v${version}/portcullis-${target}.${
    isWindows(target) ? "zip" : "tar.gz"
  }`;
}

function digestOf({ archives }: PackagedRelease, target: string): string {
  const digest = archives[target];
  if (digest === undefined) throw new Error(`there is no archive for ${target}`);
  return digest;
}

/** https://docs.brew.sh/Formula-Cookbook */
function homebrewFormula(release: PackagedRelease): string {
  const source = (target: string): string =>
    `      url "${archiveUrl(release, target)}"\n      sha256 "${digestOf(release, target)}"`;
  const system = (name: string, suffix: string): string =>
    `  on_${name} do
    on_arm do
${source(`aarch64-${suffix}`)}
    end
    on_intel do
${source(`x86_64-${suffix}`)}
    end
  end`;
  return `class Portcullis < Formula
  desc "${description}"
  homepage "https://github.com/${release.repository}"
  version "${release.version}"
  license "MIT"

${system("macos", "apple-darwin")}

${system("linux", "unknown-linux-gnu")}

  def install
    bin.install "portcullis"
  end

  service do
    run [opt_bin/"portcullis", "serve"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/portcullis --version")
  end
end
`;
}

/** https://github.com/ScoopInstaller/Scoop/blob/master/schema.json */
function scoopManifest(release: PackagedRelease): Readonly<Record<string, unknown>> {
  const architecture = (target: string, version: string) =>
    archiveUrl({ ...release, version }, `${target}-pc-windows-msvc`);
  const both = <T>(of: (target: string) => T) => ({ "64bit": of("x86_64"), arm64: of("aarch64") });
  return {
    version: release.version,
    description: `An ${description}.`,
    homepage: `https://github.com/${release.repository}`,
    license: "MIT",
    architecture: both((target) => ({
      url: architecture(target, release.version),
      hash: digestOf(release, `${target}-pc-windows-msvc`),
    })),
    bin: "portcullis.exe",
    checkver: "github",
    autoupdate: {
      architecture: both((target) => ({ url: architecture(target, "$version") })),
      hash: { url: "$baseurl/SHA256SUMS" },
    },
  };
}

const wingetSchema = "1.10.0";

/** https://github.com/microsoft/winget-cli/tree/master/schemas/JSON/manifests */
function wingetManifests(release: PackagedRelease): Readonly<Record<string, string>> {
  const { version, repository } = release;
  const [owner = ""] = repository.split("/");
  const url = `https://github.com/${repository}`;
  const kinds = {
    version: { suffix: "", fields: { DefaultLocale: "en-US" } },
    installer: {
      suffix: ".installer",
      fields: {
        InstallerType: "zip",
        NestedInstallerType: "portable",
        NestedInstallerFiles: [{ RelativeFilePath: "portcullis.exe", PortableCommandAlias: "portcullis" }],
        Installers: Object.entries({ x64: "x86_64-pc-windows-msvc", arm64: "aarch64-pc-windows-msvc" }).map(
          ([Architecture, target]) => ({
            Architecture,
            InstallerUrl: archiveUrl(release, target),
            InstallerSha256: digestOf(release, target).toUpperCase(),
          }),
        ),
      },
    },
    defaultLocale: {
      suffix: ".locale.en-US",
      fields: {
        PackageLocale: "en-US",
        Publisher: "The Portcullis authors",
        PackageName: "Portcullis",
        PackageUrl: url,
        License: "MIT",
        LicenseUrl: `${url}/blob/v${version}/LICENSE`,
        ShortDescription: `An ${description}.`,
        Moniker: "portcullis",
        ReleaseNotesUrl: `${url}/releases/tag/v${version}`,
      },
    },
  };
  const directory = `winget/manifests/${owner.slice(0, 1).toLowerCase()}/${owner}/Portcullis/${version}`;
  return Object.fromEntries(
    Object.entries(kinds).map(([kind, { suffix, fields }]) => [
      `${directory}/${owner}.Portcullis${suffix}.yaml`,
      `# yaml-language-server: $schema=https://aka.ms/winget-manifest.${kind}.${wingetSchema}.schema.json\n` + yamlOf({
        PackageIdentifier: `${owner}.Portcullis`,
        PackageVersion: version,
        ...fields,
        ManifestType: kind,
        ManifestVersion: wingetSchema,
      }),
    ]),
  );
}

type YamlFields = Readonly<Record<string, string | readonly Readonly<Record<string, string>>[]>>;

/** All text is quoted: a digest of digits alone would be a number else. */
function yamlOf(fields: YamlFields): string {
  return Object.entries(fields).map(([name, value]) => {
    if (typeof value === "string") return `${name}: ${JSON.stringify(value)}\n`;
    const items = value.map((item) =>
      Object.entries(item).map(([key, text], index) => `  ${index === 0 ? "-" : " "} ${key}: ${JSON.stringify(text)}\n`)
    );
    return `${name}:\n${items.flat().join("")}`;
  }).join("");
}

/** NixOS has no loader at the place that the program names, and the program must not be patched: it ends in its own code. */
function nixFlake(release: PackagedRelease): string {
  const systems = {
    "x86_64-linux": "x86_64-unknown-linux-gnu",
    "aarch64-linux": "aarch64-unknown-linux-gnu",
    "x86_64-darwin": "x86_64-apple-darwin",
    "aarch64-darwin": "aarch64-apple-darwin",
  };
  const sources = Object.entries(systems).map(([system, target]) =>
    `        ${system} = {
          url = "${archiveUrl(release, target)}";
          sha256 = "${digestOf(release, target)}";
        };`
  );
  return `{
  description = "An ${description}";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";
  outputs = { self, nixpkgs }:
    let
      version = "${release.version}";
      archives = {
${sources.join("\n")}
      };
      package = system:
        let
          pkgs = nixpkgs.legacyPackages.\${system};
          program = pkgs.stdenvNoCC.mkDerivation {
            pname = "portcullis-program";
            inherit version;
            src = pkgs.fetchurl archives.\${system};
            sourceRoot = ".";
            dontStrip = true;
            dontPatchELF = true;
            dontFixup = true;
            installPhase = "install -Dm755 portcullis $out/bin/portcullis";
          };
        in
        if pkgs.stdenv.hostPlatform.isLinux then
          pkgs.buildFHSEnv {
            pname = "portcullis";
            inherit version;
            targetPkgs = pkgs: [ pkgs.stdenv.cc.cc.lib ];
            runScript = "\${program}/bin/portcullis";
          }
        else
          program;
    in
    {
      packages = builtins.mapAttrs (system: _: { default = package system; }) archives;
    };
}
`;
}
