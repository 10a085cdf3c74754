/**
 * What a release takes from elsewhere, each pinned: actions by commit, images by digest, downloads by SHA-256 in
 * pins.json. A download that has no digest yet is compared with a second source before it is used or pinned.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import process from "node:process";
import { root } from "../bundle.ts";

/** A file to download. */
export interface Pin {
  readonly url: string;
  /** In hex; `null` until `deno task release --pin` has written it. */
  readonly sha256: string | null;
  /** Where its publisher says the digest a second time, on another host. */
  readonly checksumUrl?: string;
}

const maxBytes = 200_000_000;
const maxChecksumBytes = 10_000;
const timeoutMs = 300_000;

/** What pins.json holds. */
export interface Pins {
  /** By file name. */
  readonly downloads: Readonly<Record<string, Pin>>;
  /** The bundler that `deno bundle` downloads from npm: its executables' digests by platform. */
  readonly esbuild: { readonly version: string; readonly sha256: Readonly<Record<string, string>> };
}

/** Where they stand; RELEASE_PINS names another file, for a release that is tried with local servers. */
export function pinsPath(): string {
  return process.env["RELEASE_PINS"] || join(root, "scripts", "release", "pins.json");
}

export async function readPins(path: string = pinsPath()): Promise<Pins> {
  return JSON.parse(await Deno.readTextFile(path));
}

/**
 * Downloads a file into a directory and gives its path. Throws unless its digest is the pinned one or, where none is
 * pinned yet, the one that the second source says.
 */
export async function downloadChecked(name: string, pin: Pin, directory: string): Promise<string> {
  const bytes = await download(pin.url, maxBytes);
  const [expected, source] = pin.sha256 === null
    ? [await secondChecksum(name, pin), `that ${pin.checksumUrl} says`]
    : [pin.sha256, "pinned"];
  requireSame(name, sha256(bytes), expected, source);
  await Deno.mkdir(directory, { recursive: true });
  const path = join(directory, name);
  await Deno.writeFile(path, bytes);
  return path;
}

/**
 * Pins what has no digest yet: downloads it, compares it with the second source, and writes the digest into pins.json.
 * Gives the names that it pinned. Throws at the first that differs, and keeps those before it.
 */
export async function pinDownloads(
  path: string = pinsPath(),
  say: (line: string) => void = () => {},
): Promise<string[]> {
  const pins = await readPins(path);
  const downloads = { ...pins.downloads };
  const pinned: string[] = [];
  for (const [name, pin] of Object.entries(pins.downloads)) {
    if (pin.sha256 !== null) continue;
    say(`${name}: downloading from ${pin.url}`);
    const found = sha256(await download(pin.url, maxBytes));
    requireSame(name, found, await secondChecksum(name, pin), `that ${pin.checksumUrl} says`);
    downloads[name] = { ...pin, sha256: found };
    const partial = `${path}.partial`;
    await Deno.writeTextFile(partial, JSON.stringify({ ...pins, downloads }, null, 2) + "\n");
    await Deno.rename(partial, path);
    say(`${name}: ${found}, as ${new URL(pin.checksumUrl ?? pin.url).host} says too`);
    pinned.push(name);
  }
  return pinned;
}

/** What is not pinned of what a release for these targets takes, a line each, with how to pin it. */
export async function findUnpinned(targets: readonly string[]): Promise<string[]> {
  const isTaken = (name: string): boolean => targets.some((target) => name === `denort-${target}.zip`);
  const read = (path: string): Promise<string> => Deno.readTextFile(join(root, path));
  const workflows = await Promise.all(["ci.yml", "release.yml"].map((name) => read(`.github/workflows/${name}`)));
  const images = await Promise.all(
    ["Dockerfile", "compose.yaml", "compose.postgres.yaml", "scripts/release/release.ts"].map(read),
  );
  return [
    ...workflows.flatMap(unpinnedActions).map((action) =>
      `action ${action}: git ls-remote https://github.com/OWNER/NAME TAG`
    ),
    ...images.flatMap(unpinnedImages).map((image) =>
      `image ${image}: docker buildx imagetools inspect IMAGE, and write IMAGE@sha256:...`
    ),
    ...Object.entries((await readPins()).downloads).filter(([name, { sha256 }]) => sha256 === null && isTaken(name))
      .map(([name]) => `download ${name}: deno task release --pin`),
  ];
}

/** Actions in a workflow that are not named by a commit. */
export function unpinnedActions(workflow: string): string[] {
  return Array.from(workflow.matchAll(/\buses: *(\S+)/g), ([, action = ""]) => action)
    .filter((action) => !action.startsWith("./") && !/@[0-9a-f]{40}$/.test(action));
}

/** Images that a file names without a digest, variables by their defaults. */
export function unpinnedImages(text: string): string[] {
  const images = /^(?:ARG \w+_IMAGE=| +image: |.*\bimage=|.*\bgenerator=)(?=\S*[./])([^\s"'`,]+)/gm;
  return Array.from(text.matchAll(images), ([, image = ""]) => image.replace(/^\$\{\w+:-(.*)\}$/, "$1"))
    .filter((image) => image.includes("/") && !/@sha256:[0-9a-f]{64}$/.test(image));
}

/** Throws unless Deno's cache holds the pinned bundler alone. */
export async function checkBundler(platform = "linux-x64"): Promise<void> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { denoDir }: { readonly denoDir: string } = JSON.parse(new TextDecoder().decode(stdout));
  const downloads = join(denoDir, "dl");
  const found = Array.from(Deno.readDirSync(downloads)).filter(({ name }) => name.startsWith("esbuild-"))
    .flatMap(({ name }) =>
      Array.from(Deno.readDirSync(join(downloads, name)), (file) => join(downloads, name, file.name))
    );
  const { esbuild } = await readPins();
  for (const path of found) {
    requireSame(path, sha256(await Deno.readFile(path)), esbuild.sha256[platform] ?? "", "pinned");
  }
  if (found.length !== 1) throw new Error(`Deno's cache holds ${found.length} bundlers, not one`);
}

/** The publishers' files say it as `HEX  NAME`, or in the table that PowerShell's Get-FileHash prints. */
async function secondChecksum(name: string, { checksumUrl }: Pin): Promise<string> {
  if (checksumUrl === undefined) {
    throw new Error(`${name} has neither a digest nor a checksumUrl in scripts/release/pins.json`);
  }
  const text = new TextDecoder().decode(await download(checksumUrl, maxChecksumBytes));
  const digests = text.match(/\b[0-9a-f]{64}\b/gi) ?? [];
  const [digest] = digests;
  if (digest === undefined || digests.length > 1) throw new Error(`${checksumUrl} does not say one SHA-256`);
  return digest.toLowerCase();
}

async function download(url: string, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await fetch(url, { signal }).catch((error) => failDownload(url, "cannot be reached", error));
  if (!response.ok || response.body === null) throw new Error(`${url} answers ${response.status}`);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  const readAll = async (body: AsyncIterable<Uint8Array<ArrayBuffer>>): Promise<void> => {
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      if (bytes > limit) return;
      chunks.push(chunk);
    }
  };
  await readAll(response.body).catch((error) => failDownload(url, `broke off after ${bytes} bytes`, error));
  if (bytes > limit) throw new Error(`${url} is larger than ${limit} bytes`);
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/** What `fetch` throws says nothing by itself; its cause does. */
function failDownload(url: string, what: string, error: unknown): never {
  const cause = error instanceof Error ? error.cause ?? error : error;
  throw new Error(`${url} ${what} (${cause instanceof Error ? cause.message : String(cause)}): run it again`);
}

function requireSame(name: string, found: string, expected: string, source: string): void {
  if (found !== expected) throw new Error(`${name} has the SHA-256 ${found}, not the one ${source}: ${expected}`);
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
