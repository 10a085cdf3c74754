/** Downloads for a release: each is pinned by its SHA-256 in pins.json, and one without a digest is refused. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import pins from "./pins.json" with { type: "json" };

/** A file to download. */
export interface Pin {
  readonly url: string;
  readonly sha256: string | null;
}

const maxBytes = 200_000_000;
const timeoutMs = 300_000;

/** What a release downloads, by file name. */
export const pinnedDownloads: Readonly<Record<string, Pin>> = pins.downloads;

/** The bundler that `deno bundle` downloads from npm: its executables' digests by platform. */
export const pinnedBundler: { readonly version: string; readonly sha256: Readonly<Record<string, string>> } =
  pins.esbuild;

/** Downloads a file into a directory and gives its path. Throws unless its digest is the pinned one. */
export async function downloadPinned(name: string, { url, sha256 }: Pin, directory: string): Promise<string> {
  if (sha256 === null) throw new Error(`${name} has no digest in scripts/release/pins.json`);
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  if (!response.ok || response.body === null) throw new Error(`${url} answers ${response.status}`);
  const hash = createHash("sha256");
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`${url} is larger than ${maxBytes} bytes`);
    hash.update(chunk);
    chunks.push(chunk);
  }
  const found = hash.digest("hex");
  if (found !== sha256) throw new Error(`${name} has the SHA-256 ${found}, not the pinned ${sha256}`);
  const path = join(directory, name);
  await Deno.mkdir(directory, { recursive: true });
  await Deno.writeFile(path, new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer()));
  return path;
}
