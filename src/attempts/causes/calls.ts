/** Causes of attempts that end at `/mcp` with a token. */
import type { Cause, Facts } from "./cause.ts";

/** A token that is refused so soon after it was issued has not expired by itself. */
const freshTokenMs = 10_000;

function hasJustGotToken({ step, steps }: Facts): boolean {
  return steps.some(({ kind, outcome, last }) =>
    (kind === "token" || kind === "refresh") && outcome === "ok" && Math.abs(step.time - last) < freshTokenMs
  );
}

export const callCauses: readonly Cause[] = [
  {
    id: "token_expired",
    at: "refused_token",
    reasons: ["expired_token"],
    when: (facts) => !hasJustGotToken(facts),
    words: "The client's token has expired, and the client did not renew it.",
    remedy: "Reconnect in the client. If that happens every hour, update the client or raise ACCESS_TOKEN_LIFETIME.",
  },
  {
    id: "clock_wrong",
    at: "refused_token",
    reasons: ["expired_token", "wrong_claims"],
    words: "A token that was issued a moment ago is refused for its time: this machine's clock jumped.",
    remedy: "Set this machine's clock (NTP), on every instance.",
  },
  {
    id: "token_revoked",
    at: "refused_token",
    reasons: ["revoked_token", "unknown_operator_token"],
    words:
      "The client's access was ended: on the Connections page, by a new passphrase, by the command line, or by itself.",
    remedy: "Connect again from the client. A token of the command line has to be made anew.",
  },
  {
    id: "wrong_audience",
    at: "refused_token",
    reasons: ["wrong_audience", "wrong_issuer"],
    words:
      "The token is for another server or another address: SERVER_URL has changed, or the client mixed up servers.",
    remedy: "Remove the connection in the client and add it again. Keep SERVER_URL the same.",
  },
  {
    id: "key_unknown",
    at: "refused_token",
    reasons: ["unknown_signing_key", "bad_signature"],
    words:
      "The token was signed with a key that this server does not have: keys were rotated, or the data is another's.",
    remedy: "Connect again from the client. Several instances have to share one database.",
  },
  {
    id: "refresh_token_sent",
    at: "refused_token",
    reasons: ["refresh_token_as_bearer"],
    words: "The client sent its refresh token in the place of its access token.",
    remedy: "Update the client.",
  },
  {
    id: "header_mangled",
    at: "refused_token",
    reasons: ["malformed_authorization", "several_authorizations", "malformed_token"],
    words: "The Authorization header is not as a client sends it: a proxy adds one of its own, or the token was cut.",
    remedy: "Let the proxy pass the Authorization header unchanged. Enter a token again, whole.",
  },
  {
    id: "bad_token",
    at: "refused_token",
    reasons: ["*"],
    words: "The token is not one of this server's.",
    remedy: "Remove the connection in the client and add it again.",
  },
  {
    id: "session_dead",
    at: "call",
    reasons: ["status_404"],
    words: "The client goes on with a session that has ended, and does not begin a new one.",
    remedy: "Restart the client, or reconnect in it.",
  },
  {
    id: "scope_missing",
    at: "call",
    reasons: ["status_403", "insufficient_scope"],
    words: "The client may not do what it tried: its person did not tick that scope.",
    remedy: "Connect again from the client and tick the scope, or use a token with it.",
  },
  {
    id: "wrong_accept",
    at: "call",
    reasons: ["status_406", "status_415"],
    words: "The client does not take the kinds of answer that MCP has, or a proxy changes its headers.",
    remedy: "Let the proxy pass Accept and Content-Type unchanged, or update the client.",
  },
  {
    id: "body_refused",
    at: "call",
    reasons: ["status_400", "status_413", "status_408"],
    words:
      "The server could not read the client's request: it is no MCP message, too large, too slow, or of an unknown version.",
    remedy: "Update the client. Behind a proxy, let it pass bodies and the Mcp- headers unchanged.",
  },
  {
    id: "stopped",
    at: "call",
    reasons: ["stopped"],
    words: "Calls are stopped, or this client is paused, by an administrator.",
    remedy: "Let calls go on from the console.",
  },
  {
    id: "call_refused",
    at: "call",
    reasons: ["*"],
    words: "The client is connected, and its first requests failed.",
    remedy: "Search the audit for the client: `portcullis audit list --client ID`.",
  },
  {
    id: "went_well",
    at: ["call", "refresh"],
    isNoFault: true,
    when: ({ had }) => had("call", "ok", "tools/call"),
    words: "The client is connected and has called a tool.",
    remedy: "",
  },
  {
    id: "renewed",
    at: "refresh",
    isNoFault: true,
    words: "The client renewed its access.",
    remedy: "",
  },
  {
    id: "no_call_yet",
    at: "call",
    isNoFault: true,
    when: ({ had }) => had("call", "ok", "tools/list"),
    words: "The client is connected and has read the list of tools. It has not called one yet.",
    remedy:
      "Ask the agent for something that needs a tool. If it sees none, switch the connection off and on in the client.",
  },
  {
    id: "connected",
    at: "call",
    isNoFault: true,
    words: "The client is connected and has not read the list of tools yet.",
    remedy: "Ask the agent for something. If it sees no tools, restart the client.",
  },
];
