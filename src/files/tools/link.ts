/** Answers with an address at which a file is got or put, in place of its bytes. */
import * as z from "zod";
import type { Principal } from "../../lib/principal.ts";
import type { ToolOutcome } from "../../mcp/tool.ts";
import type { TransferLink, TransferLinks } from "../transfer/port.ts";
import type { ReceiveOptions } from "../workspace/arriving_content.ts";
import { showName, toPathText } from "../workspace/file_display.ts";
import { parseFilePath, type WorkspacePath } from "../workspace/path.ts";
import type { Workspace } from "../workspace/port.ts";
import { count, toTimestamp } from "./input.ts";
import { inStoredForm, suggestNear } from "./near_names.ts";
import { toFailure, toPathFailure } from "./refusal.ts";

/** Asks for an address in place of the bytes, which then never pass the model. ServiceNow's agents cannot use one. */
export const linkInput = (): z.ZodOptional<z.ZodBoolean> => z.boolean().optional().meta({ flat: "absent" });

/** What an answer with such an address has. */
export const linkOutput = (): { url: z.ZodOptional<z.ZodString>; expires_at: z.ZodOptional<z.ZodString> } => ({
  url: z.string().optional().describe("For one transfer"),
  expires_at: z.string().optional(),
});

/** The address of a file's content as it is now. */
export async function linkedRead(
  workspace: Workspace,
  links: TransferLinks,
  principal: Principal,
  filename: string,
): Promise<ToolOutcome> {
  const parsed = parseFilePath(filename);
  if (!parsed.ok) return toPathFailure("filename", parsed.error, filename);
  const path = await inStoredForm(workspace, parsed.value);
  const link = await links.forDownload(principal, path);
  if (!link.ok) return await suggestNear(workspace, path, toFailure("read file", path, link.error));
  const size = count(link.value.sizeBytes, "byte");
  return answerOf(path, link.value, `GET ${showName(path.text)} (${size})`, {
    size_bytes: link.value.sizeBytes,
    untrusted: true,
  });
}

/** The address at which the file's new content is put. */
export async function linkedWrite(
  links: TransferLinks,
  principal: Principal,
  path: WorkspacePath,
  rule: ReceiveOptions,
): Promise<ToolOutcome> {
  const link = await links.forUpload(principal, path, rule);
  if (!link.ok) return toFailure("write file", path, link.error);
  return answerOf(
    path,
    link.value,
    `PUT ${showName(path.text)} (curl -T FILE URL, in parts with Content-Range; or a person opens it in a browser)`,
    {},
  );
}

function answerOf(
  path: WorkspacePath,
  { url, expiresAt }: TransferLink,
  what: string,
  facts: Readonly<Record<string, unknown>>,
): ToolOutcome {
  const until = toTimestamp(expiresAt);
  const text = `${what} once until ${until}, with no other credential, at ${url}`;
  const structuredContent = { filename: toPathText(path.text), url, expires_at: until, ...facts };
  return { ok: true, content: [{ type: "text", text }], structuredContent };
}
