/** What a client says of itself when it registers (RFC 7591 §2), read as leniently as its security allows. */
import * as z from "zod";
import { hasMoreParts } from "../lib/has_more_parts.ts";

/** Values in one registration; clients send some fifty. */
const maxMetadataParts = 5_000;

/** Without the members that are `null`, "" or []: clients serialise what they leave out so. Anything but an object stays. */
export function withoutEmptyMembers(json: unknown): unknown {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return json;
  const isEmpty = (value: unknown): boolean =>
    value === null || value === "" || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(json).filter(([, value]) => !isEmpty(value)));
}

// Unknown members are ignored (RFC 7591 §2); `token_value` is the ServiceNow guide's place for the registration token.
const metadataSchema = z.lazy(() =>
  z.object({
    token_value: z.string().optional(),
    client_name: z.string().max(2_000).optional(),
    redirect_uris: z.array(z.string()).optional(),
    grant_types: z.array(z.string()).optional(),
    response_types: z.array(z.string()).optional(),
    token_endpoint_auth_method: z.string().optional(),
    scope: z.string().max(10_000).optional(),
    jwks: z.unknown().optional(),
    jwks_uri: z.string().optional(),
  })
);

/** The members that count here. */
export type ClientMetadata = z.output<typeof metadataSchema>;

/** Reads the members that count; `null` when one of them is of the wrong type. */
export function parseClientMetadata(json: unknown): ClientMetadata | null {
  if (hasMoreParts(json, maxMetadataParts)) return null;
  const parsed = metadataSchema.safeParse(withoutEmptyMembers(json));
  return parsed.success ? parsed.data : null;
}

/** Addresses that a server calls. Those of pages (`client_uri`, `logo_uri` ...) are neither kept nor shown here. */
const calledAddresses = ["jwks_uri", "sector_identifier_uri", "request_uris"];

/** Whether every address that a server would call is https; anything else could lie inside a private network (SSRF). */
export function calledAddressesAreHttps(json: unknown): boolean {
  const members = Object.entries(withoutEmptyMembers(json) ?? {}).filter(([name]) => calledAddresses.includes(name));
  return members.flatMap(([, value]) => value)
    .every((value) => typeof value === "string" && URL.parse(value)?.protocol === "https:");
}

const maxNameCharacters = 60;

/** Without control, bidirectional and zero-width characters, on one line, cut to a length; a stand-in when empty. */
export function cleanClientName(name: string | undefined): string {
  const visible = (name ?? "").normalize("NFKC")
    .replace(/[\s\p{Z}]+/gu, " ")
    .replace(/[\p{C}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]/gu, "")
    .trim();
  const short = [...visible].slice(0, maxNameCharacters).join("").trim();
  return short === "" ? "An application without a name" : short;
}
