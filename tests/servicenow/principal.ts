/** A person of this server, for tests that call tools, resources and prompts directly. */
import type { Principal } from "../../src/lib/principal.ts";

/** Somebody with every scope that the ServiceNow parts ask for, or with others. */
export function principalOf(
  subject: string,
  scopes: readonly string[] = ["servicenow:read", "servicenow:write"],
): Principal {
  return {
    subject,
    clientId: "test",
    grantId: "grant",
    tokenId: "token",
    keyId: null,
    scopes: new Set(scopes),
    expiresAt: Number.MAX_SAFE_INTEGER,
  };
}
