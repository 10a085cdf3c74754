/** Tokens that the company's provider signed and that are good once: assertions, logout tokens. */
import * as z from "zod";
import { clockToleranceSeconds } from "./company/provider.ts";
import { hashSecret } from "../lib/secrets.ts";
import type { Put, VersionCheck } from "../storage/mod.ts";
import { defineRecordFamily } from "./records.ts";

/** `["used_provider_token", SHA-256 of issuer, kind and jti]`, expiring. */
const usedProviderTokens = defineRecordFamily("used_provider_token", z.lazy(() => z.object({})));

/** What a commit has to hold so that a token is used up by it, and by no other; of parallel ones the first wins. */
export function useOnce(
  { issuer, kind }: { readonly issuer: string; readonly kind: "assertion" | "logout" },
  { tokenId, expiresAt }: { readonly tokenId: string; readonly expiresAt: number },
): { readonly check: VersionCheck; readonly put: Put } {
  const id = hashSecret(`${issuer}\n${kind}\n${tokenId}`);
  const until = expiresAt + (clockToleranceSeconds + 1) * 1_000;
  return { check: { key: usedProviderTokens.key(id), version: null }, put: usedProviderTokens.put(id, {}, until) };
}
