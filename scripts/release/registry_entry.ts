/** The entry for the MCP registry (server.json, schema of 2025-12-11): the npm package, the container image, the MCPB bundles. */
import { npmPackageName } from "../../src/lib/program_name.ts";

/** What an entry says. */
export interface RegistryEntryOptions {
  readonly version: string;
  /** `owner/name` on GitHub: the namespace that the registry grants to its workflow. */
  readonly repository: string;
  /** Bundles by file name, with the SHA-256 of each in hex. */
  readonly bundles: Readonly<Record<string, string>>;
}

/** The server's name in the registry; the image carries it as a label, which proves that both have one owner. */
export function registryName(repository: string): string {
  const [owner = "", name = ""] = repository.split("/");
  return `io.github.${owner}/${name}`;
}

/** The document. */
export function registryEntry(
  { version, repository, bundles }: RegistryEntryOptions,
): Readonly<Record<string, unknown>> {
  const url = `https://github.com/${repository}`;
  return {
    $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    name: registryName(repository),
    title: "Portcullis",
    description: "Files of one directory that agents cannot leave, and a local model, behind its own OAuth.",
    version,
    repository: { url, source: "github" },
    packages: [
      {
        registryType: "npm",
        identifier: npmPackageName,
        version,
        transport: { type: "stdio" },
        packageArguments: [{ type: "positional", value: "stdio" }],
      },
      {
        registryType: "oci",
        identifier: `ghcr.io/${repository.toLowerCase()}:${version}`,
        transport: { type: "stdio" },
        runtimeHint: "docker",
        runtimeArguments: [
          {
            type: "named",
            name: "--volume",
            description: "The directory that agents work in; user 65532 has to be able to write to it",
            value: "{workspace}:/var/lib/portcullis/workspace",
            isRequired: true,
            variables: {
              workspace: { description: "A directory of this machine", format: "filepath", isRequired: true },
            },
          },
        ],
        packageArguments: [
          { type: "positional", value: "stdio" },
          // The image listens on every address, for which a server needs to be told its own; stdio listens on none.
          { type: "named", name: "--host", value: "127.0.0.1" },
        ],
      },
      // The registry refuses a `version` beside an address that names it.
      ...Object.entries(bundles).map(([file, sha256]) => ({
        registryType: "mcpb",
        identifier: `${url}/releases/download/v${version}/${file}`,
        fileSha256: sha256,
        transport: { type: "stdio" },
      })),
    ],
  };
}
