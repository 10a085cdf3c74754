/** Answers of the transfer endpoint: in plain words, readable by pages of any origin, and of no use to a browser. */
import type { WorkspaceRefusal } from "../workspace/port.ts";
import { transferHeaders } from "./file_headers.ts";

/**
 * The sandboxes of clients have origins that no list can name (`null`, or one made for each conversation). No cookie is
 * read here: who knows the address may fetch it from any program, so a page that knows it may, too.
 */
const corsHeaders = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "Accept-Ranges, Content-Disposition, Content-Range, ETag, Range, Retry-After",
};

export function answer(status: number, body: BodyInit | null, headers: Readonly<Record<string, string>>): Response {
  return new Response(body, { status, headers: { ...transferHeaders, ...corsHeaders, ...headers } });
}

export function refuseTransfer(
  status: number,
  words: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return answer(status, `${words}\n`, { "content-type": "text/plain; charset=utf-8", ...headers });
}

/** For `OPTIONS`, which browsers send without the file's being touched. */
export function preflight(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...corsHeaders,
      "access-control-allow-methods": "GET, HEAD, PUT",
      "access-control-allow-headers": "Range, If-Range, Content-Range, Content-Type",
      "access-control-max-age": "600",
      "referrer-policy": "no-referrer",
    },
  });
}

export const unknownLink = "This link is not valid: it was used, has expired, or was never made. Ask for a new one.";
export const accessEnded = "The access with which this link was made has ended.";
export const notAllowed = "A rule of this server's owner stands against this transfer.";
export const changedFile = "The file has changed since this link was made. Ask for a new one.";

/** The status of a refusal by the workspace. */
export function statusOf({ reason }: WorkspaceRefusal): number {
  switch (reason) {
    case "not_found":
    case "is_root":
    case "is_directory":
    case "not_a_directory":
    case "not_a_file":
    case "already_exists":
    case "not_empty":
    case "into_itself":
    case "conflict":
      return 409;
    case "denied":
      return 403;
    case "bad_name":
    case "too_deep":
    case "too_many_entries":
      return 422;
    case "too_large":
      return 413;
    case "no_space":
    case "quota":
      return 507;
    case "io":
      return 500;
  }
}
