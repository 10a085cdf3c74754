/** MCPB bundles: one file that Claude Desktop installs, with the program in it and a form for its settings. */
import { defaultOf } from "./setting_defaults.ts";
import { noticesName } from "./notices.ts";
import { zip } from "./zip.ts";

/** What a bundle is made of. */
export interface BundleOptions {
  readonly version: string;
  /** The repository's address; a bundle made outside one has none. */
  readonly repositoryUrl?: string;
  /** As `deno compile` names it, for example `aarch64-apple-darwin`. */
  readonly target: string;
  readonly program: Uint8Array;
  readonly license: Uint8Array;
  readonly notices: Uint8Array;
}

type Platform = "darwin" | "linux" | "win32";

function platformOf(target: string): Platform {
  if (target.includes("apple")) return "darwin";
  return target.includes("windows") ? "win32" : "linux";
}

/** The manifest (MCPB 0.3, MANIFEST.md). */
export function bundleManifest({ version, repositoryUrl, target }: BundleOptions): Readonly<Record<string, unknown>> {
  const platform = platformOf(target);
  const entryPoint = `server/portcullis${platform === "win32" ? ".exe" : ""}`;
  return {
    manifest_version: "0.3",
    name: "portcullis",
    display_name: "Portcullis",
    version,
    description: "Files of one directory that it cannot leave, and a language model on this machine through Ollama.",
    author: { name: "The Portcullis authors" },
    ...(repositoryUrl === undefined ? {} : { repository: { type: "git", url: repositoryUrl } }),
    license: "MIT",
    server: {
      type: "binary",
      entry_point: entryPoint,
      mcp_config: {
        command: `\${__dirname}/${entryPoint}`,
        args: ["stdio", "--workspace", "${user_config.workspace}"],
        env: { OLLAMA_HOST: "${user_config.ollama_host}", LLM_MODELS: "${user_config.models}" },
      },
    },
    tools_generated: true,
    compatibility: { platforms: [platform] },
    user_config: {
      workspace: {
        type: "directory",
        title: "Workspace",
        description: "The directory that Claude works in; nothing outside it can be read or written.",
        required: true,
        default: "${HOME}/mcp-workspace",
      },
      ollama_host: {
        type: "string",
        title: "Ollama",
        description: "Where Ollama listens.",
        default: defaultOf("OLLAMA_HOST"),
      },
      models: {
        type: "string",
        title: "Models",
        description: "The models that Claude may use, separated by commas. Empty for those that are installed.",
        required: false,
        default: "",
      },
    },
  };
}

/** The bundle's bytes. */
export function makeBundle(options: BundleOptions): Uint8Array {
  const manifest = bundleManifest(options);
  const { entry_point: entryPoint } = manifest["server"] as { readonly entry_point: string };
  return zip([
    { name: "manifest.json", bytes: new TextEncoder().encode(JSON.stringify(manifest, null, 2)), executable: false },
    { name: "LICENSE", bytes: options.license, executable: false },
    { name: noticesName, bytes: options.notices, executable: false },
    { name: entryPoint, bytes: options.program, executable: true },
  ]);
}
