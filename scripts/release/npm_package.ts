/**
 * The npm package: the bundle and a launcher that starts it with the `deno` package of npm. One package of 2.5 MB beside
 * Deno's 42 MB, where a program for each platform would be six of 40 MB that start no sooner.
 */
import { relative } from "node:path";
import { gzipSync } from "node:zlib";
import { bundledFiles } from "../bundler.ts";
import { bundleFlags } from "../compile.ts";
import { npmPackageName } from "../../src/lib/program_name.ts";
import { noticesName } from "./notices.ts";
import { registryName } from "./registry_entry.ts";
import { tar } from "./tar.ts";

/** What the package is made of. */
export interface NpmPackageOptions {
  readonly version: string;
  readonly denoVersion: string;
  /** `owner/name` on GitHub. */
  readonly repository: string;
  /** The directory of `bundleProgram`. */
  readonly bundle: string;
  readonly license: Uint8Array;
  readonly notices: Uint8Array;
}

/** What npm reads. The registry of MCP servers compares `mcpName` with its own entry. */
export function npmManifest(
  { version, denoVersion, repository }: Pick<NpmPackageOptions, "version" | "denoVersion" | "repository">,
): Readonly<Record<string, unknown>> {
  const url = `https://github.com/${repository}`;
  return {
    name: npmPackageName,
    version,
    description: "An MCP server with its own sign-in: files of one directory, a local model, ServiceNow.",
    keywords: ["mcp", "model-context-protocol", "mcp-server", "oauth", "ollama", "servicenow"],
    license: "MIT",
    homepage: `${url}#readme`,
    repository: { type: "git", url: `git+${url}.git` },
    bugs: { url: `${url}/issues` },
    mcpName: registryName(repository),
    bin: { [npmPackageName]: "portcullis.cjs" },
    engines: { node: ">=18" },
    dependencies: { deno: denoVersion },
    denoFlags: bundleFlags(),
  };
}

/** The package as `npm publish FILE` takes it; the same bytes when it is made again. */
export async function makeNpmPackage(options: NpmPackageOptions): Promise<{ name: string; bytes: Uint8Array }> {
  const { version, bundle, license, notices } = options;
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
  const entry = (name: string, bytes: Uint8Array, executable = false) => ({
    name: `package/${name}`,
    bytes,
    executable,
  });
  const files = [
    entry("package.json", encode(JSON.stringify(npmManifest(options), null, 2) + "\n")),
    entry("README.md", encode(readme(options.repository))),
    entry("LICENSE", license),
    entry(noticesName, notices),
    entry("portcullis.cjs", await Deno.readFile(new URL("portcullis.cjs", import.meta.url)), true),
  ];
  for (const path of await bundledFiles(bundle)) {
    files.push(entry(`bundle/${relative(bundle, path).replaceAll("\\", "/")}`, await Deno.readFile(path)));
  }
  return { name: `${npmPackageName}-${version}.tgz`, bytes: gzipSync(tar(files), { level: 9 }) };
}

function readme(repository: string): string {
  return `# Portcullis

An MCP server with its own sign-in: agents get one directory, a local model through Ollama and, if you name an instance,
ServiceNow's records. You approve each client, see every call, and can stop or undo it.

\`\`\`sh
npx -y ${npmPackageName}
\`\`\`

Open the link it prints and choose a passphrase. Everything else: https://github.com/${repository}#readme
`;
}
