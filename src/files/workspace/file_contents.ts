/** A file of the workspace as the contents of a resource: text where it is text, bytes otherwise. */
import { toFileUri } from "./file_uri.ts";
import type { WorkspacePath } from "./path.ts";
import { escapeText } from "./file_display.ts";
import { mediaTypeOf, sniffMedia } from "./media_type.ts";
import { decodeBytes } from "./encoding.ts";

/** MCP schema `TextResourceContents` or `BlobResourceContents`. */
type FileContents =
  & { readonly uri: string; readonly mimeType: string }
  & ({ readonly text: string } | { readonly blob: string });

/** The media type of what shows no other (RFC 2046 §4.5.1). */
export const unknownMediaType = "application/octet-stream";

/** What the bytes show outweighs what the name promises. */
export function toResourceContents(path: WorkspacePath, bytes: Uint8Array): FileContents {
  const uri = toFileUri(path);
  const promised = mediaTypeOf(path.text);
  const text = decodeBytes(bytes, "utf-8")?.text;
  if (text !== undefined && escapeText(text) !== null) {
    const isText = /^(?:text\/|application\/(?:json|xml|yaml|toml)$|image\/svg)/.test(promised);
    return { uri, mimeType: isText ? promised : "text/plain", text };
  }
  const mimeType = sniffMedia(bytes)?.mimeType ?? (promised.startsWith("text/") ? unknownMediaType : promised);
  return { uri, mimeType, blob: Buffer.from(bytes).toString("base64") };
}
