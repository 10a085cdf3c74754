/** Media types of files, by their first bytes where a client shows the content, and by their name otherwise. */

/** Content that clients show themselves. */
interface MediaKind {
  readonly type: "image" | "audio";
  readonly mimeType: string;
}

const signatures: readonly { readonly at: number; readonly bytes: string; readonly kind: MediaKind }[] = [
  { at: 0, bytes: "\x89PNG\r\n\x1a\n", kind: { type: "image", mimeType: "image/png" } },
  { at: 0, bytes: "\xff\xd8\xff", kind: { type: "image", mimeType: "image/jpeg" } },
  { at: 0, bytes: "GIF87a", kind: { type: "image", mimeType: "image/gif" } },
  { at: 0, bytes: "GIF89a", kind: { type: "image", mimeType: "image/gif" } },
  { at: 8, bytes: "WEBP", kind: { type: "image", mimeType: "image/webp" } },
  { at: 8, bytes: "WAVE", kind: { type: "audio", mimeType: "audio/wav" } },
  { at: 4, bytes: "ftypavif", kind: { type: "image", mimeType: "image/avif" } },
  { at: 4, bytes: "ftypM4A", kind: { type: "audio", mimeType: "audio/mp4" } },
  { at: 0, bytes: "fLaC", kind: { type: "audio", mimeType: "audio/flac" } },
  { at: 0, bytes: "OggS", kind: { type: "audio", mimeType: "audio/ogg" } },
  { at: 0, bytes: "ID3", kind: { type: "audio", mimeType: "audio/mpeg" } },
  { at: 0, bytes: "\xff\xfb", kind: { type: "audio", mimeType: "audio/mpeg" } },
];

const typesByExtension: ReadonlyMap<string, string> = new Map([
  ["txt", "text/plain"],
  ["log", "text/plain"],
  ["md", "text/markdown"],
  ["csv", "text/csv"],
  ["html", "text/html"],
  ["htm", "text/html"],
  ["css", "text/css"],
  ["js", "text/javascript"],
  ["mjs", "text/javascript"],
  ["ts", "text/x-typescript"],
  ["py", "text/x-python"],
  ["sh", "text/x-shellscript"],
  ["json", "application/json"],
  ["xml", "application/xml"],
  ["yaml", "application/yaml"],
  ["yml", "application/yaml"],
  ["toml", "application/toml"],
  ["pdf", "application/pdf"],
  ["zip", "application/zip"],
  ["gz", "application/gzip"],
  ["svg", "image/svg+xml"],
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["gif", "image/gif"],
  ["webp", "image/webp"],
  ["mp3", "audio/mpeg"],
  ["wav", "audio/wav"],
  ["ogg", "audio/ogg"],
  ["flac", "audio/flac"],
]);

/** The kind of image or audio that these bytes start, or `null`. */
export function sniffMedia(bytes: Uint8Array): MediaKind | null {
  return signatures.find(({ at, bytes: signature }) => isAt(bytes, at, signature))?.kind ?? null;
}

function isAt(bytes: Uint8Array, start: number, signature: string): boolean {
  for (let at = 0; at < signature.length; at++) if (bytes[start + at] !== signature.charCodeAt(at)) return false;
  return true;
}

/** The media type that a file's name promises; `application/octet-stream` when it promises none. */
export function mediaTypeOf(name: string): string {
  const extension = /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase();
  return (extension === undefined ? undefined : typesByExtension.get(extension)) ?? "application/octet-stream";
}
