/** Images for a model, from workspace files by name: through the workspace's own read, under its scope, never by path. */
import { Buffer } from "node:buffer";
import { z } from "zod";
import type { Principal } from "../../lib/principal.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import { parseFilePath } from "../../workspace/path.ts";
import { workspaceOf, type WorkspaceSource } from "../../workspace/port.ts";
import { toFailure, toPathFailure } from "../files/refusal.ts";
import type { ToolFailure } from "./call.ts";

/** Reads a file of the principal's workspace. */
export type ReadImage = (principal: Principal, filename: string) => Promise<Result<Uint8Array, ToolFailure>>;

/** Images out of the workspace that each principal uses. */
export function workspaceImages(source: WorkspaceSource): ReadImage {
  return async (principal, filename) => {
    const path = parseFilePath(filename);
    if (!path.ok) return failure(withoutOk(toPathFailure("images", path.error)));
    const read = await workspaceOf(source, principal).read(path.value);
    return read.ok ? success(read.value.bytes) : failure(withoutOk(toFailure("read file", path.value, read.error)));
  };
}

/** The `images` parameter. */
export const imagesParameter: z.ZodOptional<z.ZodArray<z.ZodString>> = z.array(z.string().min(1)).max(4).optional()
  .describe("Names of PNG, JPEG, WebP or GIF files in the workspace that the model should look at; needs files:read");

/** Reads the files and encodes them as Ollama wants them, in Base64; undefined when there are none. */
export async function loadImages(
  readImage: ReadImage,
  principal: Principal,
  filenames: readonly string[] | undefined,
): Promise<Result<readonly string[] | undefined, ToolFailure>> {
  if (filenames === undefined || filenames.length === 0) return success(undefined);
  if (!principal.scopes.has("files:read")) {
    return failure({
      code: "insufficient_scope",
      message: "Images are workspace files: connect again and allow files:read, or leave out images.",
    });
  }
  const images: string[] = [];
  for (const filename of filenames) {
    const read = await readImage(principal, filename);
    if (!read.ok) return read;
    if (!isImage(read.value)) {
      const message = `${JSON.stringify(filename)} is not a PNG, JPEG, WebP or GIF image; name one that is.`;
      return failure({ code: "invalid_request", message });
    }
    images.push(Buffer.from(read.value).toString("base64"));
  }
  return success(images);
}

/** By their first bytes: a text file would only be refused by Ollama in words that help nobody. */
function isImage(bytes: Uint8Array): boolean {
  const head = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  return head.startsWith("\x89PNG\r\n\x1a\n") || head.startsWith("\xff\xd8\xff") || /^GIF8[79]a/.test(head) ||
    /^RIFF[^]{4}WEBP$/.test(head);
}

function withoutOk(outcome: { readonly code: string; readonly message: string }): ToolFailure {
  return { code: outcome.code, message: outcome.message };
}
