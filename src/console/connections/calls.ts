/** Causes of attempts that end at `/mcp` with a token. */
import { type Cause, oldTransport } from "./cause.ts";

const issuedElsewhere = {
  words: "The token was issued by another server (its issuer is not SERVER_URL), so it is not accepted here.",
  remedy:
    "Remove that token from the client's configuration so that it signs in here, or use `portcullis token create`.",
} as const;

export const callCauses: readonly Cause[] = [
  {
    id: "token_expired",
    at: "refused_token",
    reasons: ["expired_token"],
    words: "The client's token has expired, and the client did not renew it.",
    remedy: "Reconnect in the client. If that happens every hour, update the client or raise ACCESS_TOKEN_LIFETIME.",
  },
  {
    id: "account_disabled",
    at: "refused_token",
    reasons: ["disabled_user"],
    words: "The account of the person that the token acts for is disabled on this server.",
    remedy: "Enable it on the People page or with `portcullis users enable`, then connect again.",
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
    id: "token_of_other_server",
    at: "refused_token",
    reasons: ["token_of_other_server"],
    ...issuedElsewhere,
  },
  {
    id: "token_of_other_server",
    at: "refused_token",
    reasons: ["token_of_other_kind"],
    words: "The token is none of this server's: it is another server's, the key of an API, or a placeholder.",
    remedy:
      "Remove it from the client's configuration so that it signs in, or use a token of `portcullis token create`.",
  },
  {
    id: "key_unknown",
    at: "refused_token",
    reasons: ["unknown_signing_key"],
    when: ({ step }) => step.host !== null,
    ...issuedElsewhere,
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
    words:
      "The Authorization header is not as a client sends it: [a proxy adds one of its own, or ]the token was cut, or a placeholder was not filled in.",
    remedy:
      "[Let the proxy pass the Authorization header unchanged. ]Enter a token again, whole, or remove it so that the client signs in.",
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
    id: "wrong_content_type",
    at: "call",
    reasons: ["status_415"],
    words: "The client's request does not have the Content-Type application/json[, or a proxy removes it].",
    remedy: "Update the client[, or let the proxy pass Content-Type unchanged].",
  },
  { id: "old_transport", at: "stream", reasons: ["status_405"], ...oldTransport },
  {
    id: "streams_given_up",
    at: "stream",
    reasons: ["given_up"],
    words:
      "The client opened its stream several times and left it each time, without a call[: a proxy holds back or cuts off event streams].",
    remedy:
      "[Switch off buffering of text/event-stream in the proxy, and raise its time limit for /mcp. Then restart]{Restart} the client.",
  },
  {
    id: "answers_cut",
    at: "call",
    reasons: ["answers_cut", "cancelled"],
    words:
      "Calls that took long ended without their answer: the client [or a proxy ]did not wait for it, or its person stopped it.",
    remedy:
      "Raise the time limit for tools in the client (Claude Code: MCP_TOOL_TIMEOUT)[ and for /mcp in the proxy], or let the agent ask for less at once.",
  },
  {
    id: "servicenow_not_linked",
    at: "call",
    reasons: ["servicenow_not_linked", "servicenow_link_expired"],
    words: "The client is connected, and its call failed: the person's ServiceNow account is not linked, or no longer.",
    remedy: "The person links it on their Access page, under Your ServiceNow account.",
  },
  {
    id: "system_away",
    at: "call",
    reasons: ["servicenow_unavailable", "ollama_unreachable"],
    words: "The client is connected, and its call failed: ServiceNow, or the local model's server, does not answer.",
    remedy: "Run `portcullis doctor`: it says whether they can be reached.",
  },
  {
    id: "call_awaits_approval",
    at: "call",
    isNoFault: true,
    reasons: ["approval_pending", "denied_by_rule", "denied_by_person"],
    words: "The client is connected, and its call waits for a person's approval, or was refused by a rule or a person.",
    remedy: "The Approvals page of the console has what waits, the Rules page what is refused.",
  },
  {
    id: "body_refused",
    at: "call",
    reasons: ["status_400", "status_413", "status_408"],
    words:
      "The server could not read the client's request: it is no MCP message, too large, too slow, or of an unknown version.",
    remedy: "Update the client.[ Behind a proxy, let it pass bodies and the Mcp- headers unchanged.]",
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
    when: ({ had }) => had("call", "ok", "tools/call") || had("call", "ok", "answered"),
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
    at: ["call", "stream"],
    isNoFault: true,
    words: "The client is connected and has not read the list of tools yet.",
    remedy: "Ask the agent for something. If it sees no tools, restart the client.",
  },
];
