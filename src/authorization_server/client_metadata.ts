/** What a client says of itself when it registers (RFC 7591 §2), read as leniently as its security allows. */
import { z } from "zod";
import { hasMoreParts } from "../lib/has_more_parts.ts";

/** Values in one registration; clients send some fifty. */
const maxMetadataParts = 5_000;

/** `null`, "" and [] mean that a member was left out: clients serialise their empty fields so. */
const orAbsent = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => isEmpty(value) ? undefined : value, schema.optional());

function isEmpty(value: unknown): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

// Unknown members are ignored (RFC 7591 §2); `token_value` is the ServiceNow guide's place for the registration token.
const metadataSchema = z.object({
  token_value: orAbsent(z.string()),
  client_name: orAbsent(z.string().max(2_000)),
  redirect_uris: orAbsent(z.array(z.string())),
  grant_types: orAbsent(z.array(z.string())),
  response_types: orAbsent(z.array(z.string())),
  token_endpoint_auth_method: orAbsent(z.string()),
  scope: orAbsent(z.string().max(10_000)),
  jwks: orAbsent(z.unknown()),
  jwks_uri: orAbsent(z.string()),
});

/** The members that count here. */
export type ClientMetadata = z.output<typeof metadataSchema>;

/** Reads the members that count; `null` when one of them is of the wrong type. */
export function parseClientMetadata(json: unknown): ClientMetadata | null {
  if (hasMoreParts(json, maxMetadataParts)) return null;
  const parsed = metadataSchema.safeParse(json);
  return parsed.success ? parsed.data : null;
}

/** Addresses that a server calls. Those of pages (`client_uri`, `logo_uri` ...) are neither kept nor shown here. */
const calledAddresses = ["jwks_uri", "sector_identifier_uri", "request_uris"];

/** Whether every address that a server would call is https; anything else could lie inside a private network (SSRF). */
export function calledAddressesAreHttps(json: unknown): boolean {
  const members = Object.entries(json ?? {}).filter(([name, value]) =>
    calledAddresses.includes(name) && !isEmpty(value)
  );
  return members.flatMap(([, value]) => value)
    .every((value) => typeof value === "string" && URL.parse(value)?.protocol === "https:");
}
