/** Causes of attempts that end at the token, or with a token in hand. */
import { at, type Cause, type Facts, oldTransport } from "./cause.ts";

const isOf = (agent: RegExp) => ({ steps }: Facts): boolean => steps.some((step) => agent.test(step.agent ?? ""));

/** A token that is refused this soon after it was issued has not simply expired. */
const freshTokenMs = 10_000;

function hasJumped({ step, steps }: Facts): boolean {
  if (step.reason === "wrong_claims" || step.sign === "clock_jumped") return true;
  return step.kind === "refused_token" && step.sign !== "clock_steady" &&
    steps.some(({ kind, outcome, last }) =>
      (kind === "token" || kind === "refresh") && outcome === "ok" && Math.abs(step.time - last) < freshTokenMs
    );
}

const issuedElsewhere = {
  words: "The token was issued by another server (its issuer is not SERVER_URL), so it is not accepted here.",
  remedy:
    "Remove that token from the client's configuration so that it signs in here, or use `portcullis token create`.",
} as const;

export const causesWithToken: readonly Cause[] = [
  {
    id: "clock_wrong",
    at: ["token", "refresh", "refused_token"],
    reasons: ["expired_token", "expired_code", "expired_refresh_token", "wrong_claims"],
    when: hasJumped,
    words: "What was issued a moment ago is refused for its time: this machine's clock jumped, or instances differ.",
    remedy: "Set this machine's clock (NTP), on every instance, and connect again.",
  },
  {
    id: "credentials_added",
    at: ["token", "refresh"],
    reasons: [
      "client_id_mismatch",
      "malformed_basic_credentials",
      "several_authentication_methods",
      "unknown_client",
      "wrong_authentication_method",
      "wrong_client_secret",
    ],
    when: ({ had }) =>
      had("reached", "refused", "other_scheme") || had("refused_token", "refused", "malformed_token") ||
      had("refused_token", "refused", "token_of_other_kind") ||
      had("refused_token", "refused", "token_of_other_server"),
    words:
      "Every request comes with an Authorization header that is not the client's own: it is in the client's configuration[, or a proxy adds it].",
    remedy: "Remove it from [the proxy, or from ]the headers in the client's configuration.",
  },
  {
    id: "code_replayed",
    at: ["token", "refused_token", "reached"],
    reasons: ["replayed_code", "revoked_token"],
    when: ({ had }) => had("token", "refused", "replayed_code"),
    words: "The client used its code twice. The second use revokes what the first one got, as it could be a thief's.",
    remedy: "Connect again. If it stays, update the client: two windows or processes of it handle the same answer.",
  },
  {
    id: "refresh_replayed",
    at: ["token", "refresh", "refused_token"],
    reasons: ["reused_refresh_token", "revoked_token", "unknown_refresh_token"],
    when: ({ had }) => had("refresh", "refused", "reused_refresh_token"),
    words: "The client used an old refresh token again, so its access was revoked: a copy of it may have been stolen.",
    remedy: "Connect again. Do not run two copies of a client with the same stored tokens.",
  },
  ...at("token", [
    {
      id: "code_late",
      reasons: ["expired_code"],
      words: "The client brought its code too late.",
      remedy: "Connect again without a pause. If the code is pasted by hand, paste it within a minute.",
    },
    {
      id: "code_unknown",
      reasons: ["unknown_code", "code_of_another_client", "missing_code"],
      words: "The client brought a code that is not its own, or that was never issued or was removed long ago.",
      remedy: "Connect again. If it stays, remove the connection in the client and add it again.",
    },
    {
      id: "pkce_wrong",
      reasons: ["wrong_code_verifier", "missing_code_verifier"],
      words:
        "The client's PKCE verifier does not fit: it is missing, or belongs to another attempt of the same client.",
      remedy: "Close the client's other sign-in windows and connect again.",
    },
    {
      id: "redirect_changed",
      reasons: ["redirect_uri_mismatch"],
      words: "The client named another return address for its token than for its code.",
      remedy: "Update the client.[ Behind a proxy, check the public address in the client's configuration.]",
    },
  ]),
  ...at(["token", "refresh"], [
    {
      id: "client_assertion",
      reasons: ["invalid_client_assertion", "replayed_client_assertion"],
      words: "The client's signed proof of itself is not valid: its clock is wrong, or its key has changed or expired.",
      remedy: "Set the clocks of both machines (NTP), and check the keys that the client has published.",
    },
    {
      id: "client_secret_expired",
      reasons: ["expired_client_secret"],
      words: "The client's secret has expired.",
      remedy: "Make a new client with `portcullis clients create` and enter its id and secret.",
    },
    {
      id: "client_secret",
      reasons: [
        "client_id_mismatch",
        "wrong_client_secret",
        "wrong_authentication_method",
        "malformed_basic_credentials",
        "several_authentication_methods",
      ],
      words: "The client did not prove itself as it was registered: its secret is wrong, or it sent it in another way.",
      remedy: "Enter the client's secret again, or remove the connection in the client and add it again.",
    },
    {
      id: "unknown_scope",
      reasons: ["scope_exceeds_client", "scope_exceeds_grant"],
      words: "The client asked for a scope that is unknown here, or for more than it was allowed.",
      remedy: "Remove the scope from the client's configuration, or connect again and tick it on the page.",
    },
    {
      id: "user_not_active",
      reasons: ["user_not_active"],
      words: "The person's account was disabled, or its passphrase changed, since the person allowed access.",
      remedy: "Enable the account on the People page if it is disabled, then connect again.",
    },
    {
      id: "refresh_of_another_client",
      reasons: ["refresh_token_of_another_client"],
      words: "The client registered again but still uses the refresh token of its earlier registration.",
      remedy: "Remove the connection in the client, with its stored data, and add it again.",
    },
    {
      id: "refresh_expired",
      reasons: ["expired_refresh_token", "unknown_refresh_token"],
      words: "The client's access has ended: it was not used for a long time, or someone ended it.",
      remedy: "Connect again from the client.",
    },
    {
      id: "token_refused",
      reasons: ["unsupported_grant_type", "grant_type_not_registered"],
      words: "The client's request for a token was refused: it asked in a way (grant type) that is not open to it.",
      remedy: "Update the client, or choose Authorization Code in it.",
    },
    {
      id: "token_refused",
      reasons: ["missing_grant_type", "missing_refresh_token", "repeated_parameter"],
      words:
        "The client's request for a token was refused: it lacks a parameter, or has one twice; the last step says so.",
      remedy: "Update the client.",
    },
    {
      id: "token_refused",
      reasons: ["*"],
      words: "The client's request for a token was refused; the last step says why.",
      remedy: "Update the client, or remove the connection in it and add it again.",
    },
  ]),
  ...at("token", [
    {
      id: "edge_blocks_agent",
      when: isOf(/^(claude|python-httpx|chatgpt|openai)/i),
      words:
        "The client got its token and sent nothing more: a firewall or CDN refuses the agent at /mcp, or the client stopped.",
      remedy: "Let your CDN or firewall pass AI agents to /mcp. `portcullis doctor` tries it as Claude-User.",
      needsProxy: true,
    },
    {
      id: "path_not_passed",
      words:
        "The client got its token and sent nothing more: [a proxy blocks /mcp, or the client stopped]{it waits for you, or has ended}.",
      remedy:
        "[Check the proxy's rules for /mcp and try again]{Continue in the client (Claude Code: /mcp shows whether it is connected)}. If it does not help, restart the client.",
    },
  ]),
  ...at("refused_token", [
    {
      id: "token_expired",
      reasons: ["expired_token"],
      words: "The client's token has expired, and the client did not renew it.",
      remedy: "Reconnect in the client. If that happens every hour, update the client or raise ACCESS_TOKEN_LIFETIME.",
    },
    {
      id: "token_revoked",
      reasons: ["revoked_token", "unknown_operator_token"],
      words:
        "The client's access was removed: on the Connections page, by a new passphrase, from the command line, or by the client.",
      remedy: "Connect again from the client. For a command-line token, create a new one.",
    },
    {
      id: "wrong_audience",
      reasons: ["wrong_audience", "wrong_issuer"],
      words:
        "The token is for another server or another address: SERVER_URL has changed, or the client mixed up servers.",
      remedy: "Remove the connection in the client and add it again. Keep SERVER_URL the same.",
    },
    {
      id: "token_of_other_server",
      reasons: ["token_of_other_server"],
      ...issuedElsewhere,
    },
    {
      id: "token_of_other_server",
      reasons: ["token_of_other_kind"],
      words: "The token is none of this server's: it is another server's, the key of an API, or a placeholder.",
      remedy:
        "Remove it from the client's configuration so that it signs in, or use a token of `portcullis token create`.",
    },
    {
      id: "key_unknown",
      reasons: ["unknown_signing_key"],
      when: ({ step }) => step.host !== null,
      ...issuedElsewhere,
    },
    {
      id: "key_unknown",
      reasons: ["unknown_signing_key", "bad_signature"],
      words:
        "The token was signed with a key that this server does not have: keys were rotated, or the data is another's.",
      remedy: "Connect again from the client. Several instances have to share one database.",
    },
    {
      id: "refresh_token_sent",
      reasons: ["refresh_token_as_bearer"],
      words: "The client sent its refresh token instead of its access token.",
      remedy: "Update the client.",
    },
    {
      id: "header_mangled",
      reasons: ["malformed_authorization", "several_authorizations", "malformed_token"],
      words:
        "The Authorization header is malformed: the token was cut, a placeholder was not filled in[, or a proxy adds its own token]{, or two were joined}.",
      remedy:
        "[Let the proxy pass the Authorization header unchanged. ]Enter a token again, whole, or remove it so that the client signs in.",
    },
    {
      id: "bad_token",
      reasons: ["*"],
      words: "The token is not one of this server's.",
      remedy: "Remove the connection in the client and add it again.",
    },
  ]),
  ...at("call", [
    {
      id: "session_dead",
      reasons: ["status_404"],
      words: "The client keeps using a session that has ended, and does not start a new one.",
      remedy: "Restart the client, or reconnect in it.",
    },
    {
      id: "scope_missing",
      reasons: ["status_403", "insufficient_scope"],
      words: "The client may not do what it tried: its person did not tick that scope.",
      remedy: "Connect again from the client and tick the scope, or use a token with it.",
    },
    {
      id: "wrong_content_type",
      reasons: ["status_415"],
      words: "The client's request does not have the Content-Type application/json[, or a proxy removes it].",
      remedy: "Update the client[, or let the proxy pass Content-Type unchanged].",
    },
  ]),
  ...at("stream", [
    { id: "old_transport", reasons: ["status_405"], ...oldTransport },
    {
      id: "streams_given_up",
      reasons: ["given_up"],
      words:
        "The client opened its stream several times and left it each time, without a call: it cannot use it[, or a proxy holds back or cuts off event streams].",
      remedy:
        "[Switch off buffering of text/event-stream in the proxy, and raise its time limit for /mcp. Then restart]{Restart} the client.",
    },
  ]),
  ...at("call", [
    {
      id: "answers_cut",
      reasons: ["answers_cut", "cancelled"],
      words:
        "Calls that took long ended without their answer: the client [or a proxy ]did not wait for it, or its person stopped it.",
      remedy:
        "Raise the time limit for tools in the client (Claude Code: MCP_TOOL_TIMEOUT)[ and for /mcp in the proxy], or let the agent ask for less at once.",
    },
    {
      id: "servicenow_not_linked",
      reasons: ["servicenow_not_linked", "servicenow_link_expired"],
      words:
        "The client is connected, and its call failed: the person's ServiceNow account is not linked, or no longer.",
      remedy: "The person links it on their Access page, under Your ServiceNow account.",
    },
    {
      id: "system_away",
      reasons: ["servicenow_unavailable", "ollama_unreachable"],
      words: "The client is connected, and its call failed: ServiceNow, or the local model's server, does not answer.",
      remedy: "Run `portcullis doctor`: it says whether they can be reached.",
    },
    {
      id: "call_awaits_approval",
      isNoFault: true,
      reasons: ["approval_pending", "denied_by_rule", "denied_by_person"],
      words:
        "The client is connected, and its call waits for a person's approval, or was refused by a rule or a person.",
      remedy: "The Approvals page of the console has what waits, the Rules page what is refused.",
    },
    {
      id: "body_refused",
      reasons: ["status_400"],
      words: "The server could not read the client's request: it is no MCP message, or of an unknown version.",
      remedy: "Update the client.[ Behind a proxy, let it pass bodies and the Mcp- headers unchanged.]",
    },
    {
      id: "body_too_large",
      reasons: ["status_413"],
      words: "The client's request is too large for the server to read.",
      remedy: "Let the agent send less at once, or upload large files by a link.",
    },
    {
      id: "body_slow",
      reasons: ["status_408"],
      words: "The client's request did not arrive whole in time: its connection is slow[, or a proxy holds it back].",
      remedy: "Try again over a better connection.[ Let the proxy pass bodies as they come.]",
    },
    {
      id: "body_encoded",
      reasons: ["encoded_body"],
      words: "The client[, or a proxy,] compresses its requests (Content-Encoding), which the server does not read.",
      remedy: "Switch that off in the client[ or the proxy], or update the client.",
    },
    {
      id: "wrong_method",
      reasons: ["wrong_method"],
      words: "The client calls /mcp by another HTTP method than POST, by which calls are sent.",
      remedy: "Update the client, or choose HTTP (Streamable HTTP) in it.",
    },
    {
      id: "stopped",
      reasons: ["stopped"],
      words: "Calls are stopped, or this client is paused, by an administrator.",
      remedy: "Resume calls in the console.",
    },
    {
      id: "call_refused",
      reasons: ["*"],
      words: "The client is connected, and its first requests failed.",
      remedy: "Search the audit for the client: `portcullis audit list --client ID`.",
    },
  ]),
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
