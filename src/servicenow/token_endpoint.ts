/** The instance's token endpoint: forms only, the client's secret in the body, nothing ever sent twice. */
import * as z from "zod";
import { failure, type Result, success } from "../lib/result.ts";
import type { UnavailableCause } from "./failure.ts";
import { parseJsonBytes, type Transport, type UpstreamReply } from "./transport.ts";

/** This server as the instance knows it. */
export interface InstanceClient {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Exactly as registered at the instance. */
  readonly redirectUri: string;
}

/** `refused`: the code or token is no good. Anything else says nothing about it. */
type TokenFailure =
  | { readonly reason: "refused"; readonly said: string | null }
  | { readonly reason: "unavailable"; readonly because: UnavailableCause };

export type TokenEndpoint = ReturnType<typeof createInstanceTokenEndpoint>;

const maxReplyBytes = 65_536;
const defaultLifetimeSeconds = 1_799; // an instance's own default

const tokenReply = z.object({
  access_token: z.string().min(1),
  refresh_token: z.string().min(1).nullish(),
  expires_in: z.coerce.number().positive().max(315_360_000).catch(defaultLifetimeSeconds),
}).transform(({ access_token, refresh_token, expires_in }) => ({
  accessToken: access_token,
  /** `null` when none came; after a refresh that means that the old one stays good. */
  refreshToken: refresh_token ?? null,
  expiresInSeconds: expires_in,
}));

export type InstanceTokens = z.output<typeof tokenReply>;

const errorReply = z.object({ error: z.string(), error_description: z.string().nullish() });
/** Words of an error that are shown; nothing that could hold a token. */
const plainError = /^[A-Za-z][A-Za-z_ ]{0,59}$/;

/** The instance's token endpoint: exchanges codes, renews and revokes tokens (RFC 6749 §4.1.3 and §6, RFC 7009). */
export function createInstanceTokenEndpoint(
  { transport, client }: { readonly transport: Transport; readonly client: InstanceClient },
) {
  const post = (path: string, form: Record<string, string>) =>
    transport({
      method: "POST",
      path,
      accept: "json",
      maxBytes: maxReplyBytes,
      body: { type: "application/x-www-form-urlencoded", content: new URLSearchParams(form).toString() },
    }, { accessToken: null, signal: new AbortController().signal });

  const request = async (form: Record<string, string>): Promise<Result<InstanceTokens, TokenFailure>> => {
    const { clientId: client_id, clientSecret: client_secret } = client;
    const answer = await post("/oauth_token.do", { ...form, client_id, client_secret });
    if (answer.ok) return toTokens(answer.value);
    return unavailable(answer.error.reason === "unavailable" ? answer.error.because : "bad_reply");
  };
  return {
    redeemCode: (code: string, code_verifier: string) =>
      request({ grant_type: "authorization_code", code, code_verifier, redirect_uri: client.redirectUri }),
    refresh: (refresh_token: string) => request({ grant_type: "refresh_token", refresh_token }),
    /** Revokes tokens at the instance, best effort: an unreachable instance is not a failure. */
    async revoke({ accessToken, refreshToken }: Pick<InstanceTokens, "accessToken" | "refreshToken">): Promise<void> {
      const tokens = refreshToken === null ? [accessToken] : [refreshToken, accessToken];
      // The instance documents the token in the query; in a form it reaches no proxy's log.
      await Promise.all(tokens.map((token) => post("/oauth_revoke_token.do", { token })));
    },
  };
}

function toTokens({ status, bytes }: UpstreamReply): Result<InstanceTokens, TokenFailure> {
  const body = parseJsonBytes(bytes);
  if (status === 400 || status === 401) {
    const { error, error_description } = errorReply.safeParse(body).data ?? {};
    // RFC 6749 §5.2: `invalid_client` is about this server's own credentials. The user's token may be good.
    return error === "invalid_client"
      ? unavailable("client_refused")
      : failure({ reason: "refused", said: said(error, error_description) });
  }
  if (status !== 200) return unavailable("server_error");
  const parsed = tokenReply.safeParse(body);
  return parsed.success ? success(parsed.data) : unavailable("bad_reply");
}

function said(...words: readonly (string | null | undefined)[]): string | null {
  return words.filter((word) => word && plainError.test(word)).join(": ") || null;
}

function unavailable(because: UnavailableCause): Result<never, TokenFailure> {
  return failure({ reason: "unavailable", because });
}
