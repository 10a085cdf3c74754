/** Causes of attempts that end before the client is known: the way to the server and its documents. */
import { stepKinds } from "./step.ts";
import { type Cause, type Facts, oldTransport } from "./cause.ts";

const cameBy = (sign: string) => ({ steps }: Facts): boolean => steps.some((step) => step.sign === sign);

const waitingWords = "The client was told to sign in, and waits until you ask it to.";
const waitingRemedy = "Start the sign-in in the client (Claude Code: /mcp, then Authenticate).";

export const arrivalCauses: readonly Cause[] = [
  {
    id: "unknown_host",
    at: "stray",
    reasons: ["unknown_host"],
    words: "The client called the server by a name that the server does not know.",
    remedy: "Set SERVER_URL to the address that clients type. Further names go into ALLOWED_HOSTS.",
  },
  {
    id: "unknown_origin",
    at: "stray",
    reasons: ["unknown_origin"],
    words: "A web page of another origin called the server, which refuses that[, or a proxy sets the Origin header].",
    remedy: "If you know the page, add its origin to ALLOWED_ORIGINS.[ Let a proxy pass Origin as the client sent it.]",
  },
  {
    id: "malformed_address",
    at: "stray",
    reasons: ["malformed_address"],
    words: "The Host header and the request's target do not name one address[: a proxy rewrites one of them].",
    remedy: "Update the client.[ Let the proxy pass Host as the client sent it.]",
  },
  {
    id: "wrong_path",
    at: "stray",
    reasons: ["status_404", "status_405"],
    when: ({ step }) => /\/(sse|messages?)\/?$/.test(step.path ?? ""),
    ...oldTransport,
  },
  {
    id: "wrong_path",
    at: "stray",
    reasons: ["*"],
    words: "The client asks for a path that is not the server's[, or a proxy changes the path].",
    remedy:
      "Use the address that ends in /mcp, as `portcullis connect` prints it.[ Let the proxy pass paths unchanged.]",
  },
  {
    id: "path_rule",
    at: ["resource_metadata", "server_metadata"],
    reasons: ["status_404"],
    words: "The client looks for the server's documents where they are not, and gave up.",
    remedy:
      "Enter the address that ends in /mcp, and update the client.[ Let a proxy pass /.well-known/ as it is, without adding or removing a prefix.]",
  },
  {
    id: "disk_full",
    at: stepKinds,
    reasons: ["disk_full"],
    words: "The disk of the server's database is full.",
    remedy: "Free some space: the server goes on by itself.",
  },
  {
    id: "database_lost",
    at: stepKinds,
    reasons: ["status_503", "unavailable"],
    words: "The server could not use its database at that moment.",
    remedy:
      "Run `portcullis doctor`: it says whether the database can be reached, the disk is full, or a file is damaged.",
  },
  {
    id: "server_fault",
    at: stepKinds,
    reasons: ["status_500", "internal_error"],
    words: "The server failed: its disk may be full, or this is a bug.",
    remedy: "Run `portcullis doctor`, and look for request_failed in the log.",
  },
  {
    id: "calls_limited",
    at: ["call", "stream"],
    reasons: ["status_429", "rate_limited"],
    words: "The client sends more calls than MCP_RATE_LIMIT allows in a minute, and was told to wait.",
    remedy: "Wait a minute. If the agent needs more calls, raise MCP_RATE_LIMIT.",
  },
  {
    id: "rate_limited",
    at: stepKinds.filter((kind) => kind !== "call" && kind !== "stream"),
    reasons: ["status_429", "rate_limited"],
    words: "The client, or others at its address, sent too many requests, and was told to wait.",
    remedy:
      "Wait a minute.[ If all clients come from one address, set TRUST_PROXY to your proxy's address so that they are told apart.]",
  },
  {
    id: "token_in_url",
    at: "reached",
    reasons: ["token_in_url"],
    words: "The client sent a token or a key in the address, where logs keep it. The server takes none there.",
    remedy:
      "Remove it from the address, so that the client signs in, or configure it as the header Authorization: Bearer.",
  },
  {
    id: "request_changed",
    at: ["registration", "authorization", "sign_in", "consent", "token", "refresh"],
    reasons: ["wrong_content_type", "encoded_body", "malformed_body", "status_405", "status_415"],
    words: "The request came without its body, its Content-Type or its method[: a proxy or a redirect changed it].",
    remedy:
      "[Let the proxy pass method, body and headers unchanged, and redirect nothing under /oauth/. Without a proxy, update]{Update} the client.",
  },
  {
    id: "other_credentials",
    at: "reached",
    reasons: ["other_scheme"],
    words:
      "The client[, or a proxy,] sent credentials that are no Bearer token, such as a password or the key of an API.",
    remedy:
      "Remove them from the client's[ or the proxy's] configuration so that it signs in, or use a token of `portcullis token create`.",
  },
  {
    id: "header_removed",
    at: ["reached", "handshake"],
    when: ({ had }) => had("token", "ok"),
    words:
      "The client got its token, but its next request came without one[: a proxy removes the Authorization header].",
    remedy:
      "[Let the proxy pass the Authorization header to /mcp. If there is no proxy, restart]{Restart} the client, then update it.",
  },
  {
    id: "public_handshake_only",
    at: "handshake",
    words:
      "The client's first request was answered without a token, and the client took that to mean that none is needed.",
    remedy: "Set PUBLIC_INITIALIZE=never, then remove the connection in the client and add it again.",
  },
  {
    id: "other_address",
    at: ["reached", "resource_metadata", "server_metadata"],
    when: cameBy("other_host"),
    words:
      "The client came by another name than SERVER_URL. The documents name SERVER_URL, so the client refuses them.",
    remedy: "Set SERVER_URL to the address that clients type, and start the server again.",
  },
  {
    id: "other_scheme",
    at: ["reached", "resource_metadata", "server_metadata"],
    when: cameBy("other_scheme"),
    words:
      "The client came by https and SERVER_URL says http, or the other way round, so the client refuses the documents.",
    remedy: "Set SERVER_URL to the address that clients type, https included, and start the server again.",
  },
  {
    id: "old_transport",
    at: "reached",
    when: ({ steps }) => steps.every(({ kind, path }) => kind !== "reached" || path === "GET"),
    ...oldTransport,
  },
  {
    id: "documents_not_reached",
    at: "reached",
    words:
      "The client was told to sign in, and did not go on: it waits until you ask it to[, or a proxy passes /mcp alone].",
    remedy:
      "Start the sign-in in the client (Claude Code: /mcp).[ Let a proxy pass /.well-known/, /oauth/ and WWW-Authenticate too: `portcullis doctor` tries it.]",
  },
  {
    id: "no_oauth",
    at: "reached",
    words: "Or the client cannot sign in by OAuth, or is a monitor or a scanner.",
    remedy: "Give such a client a token: `portcullis token create`.",
  },
  {
    id: "server_document_not_reached",
    at: "resource_metadata",
    words:
      "The client read which server to ask, and did not ask it: [it could not reach the address in SERVER_URL, or refused it]{it waits until you ask it to sign in, or refused the document}.",
    remedy:
      "[Open SERVER_URL from the client's machine. It]{Start the sign-in in the client (Claude Code: /mcp). SERVER_URL} must be the address that the client uses, to the letter.",
  },
  {
    id: "no_way_to_register",
    at: "server_metadata",
    when: cameBy("registration_closed"),
    words: "The client read the server's documents and found no way to register by itself.",
    remedy:
      "Make it by hand with `portcullis clients create` and enter its id in the client, or set REGISTRATION=open.",
  },
  {
    id: "waits_for_person",
    at: "server_metadata",
    isNoFault: true,
    when: ({ isDirect }) => isDirect,
    words: waitingWords,
    remedy: waitingRemedy,
  },
  {
    id: "waits_for_person",
    at: "server_metadata",
    when: ({ steps }) => steps.some(({ agent }) => /^claude-code/i.test(agent ?? "")),
    words: waitingWords,
    remedy: waitingRemedy,
  },
  {
    id: "oauth_path_blocked",
    at: "server_metadata",
    words: "The client read the server's documents and came no further: a proxy or firewall keeps it from /oauth/.",
    remedy: "Let the proxy pass /oauth/ as it is, without adding or removing a prefix.",
  },
  {
    id: "pop_up_blocked_known",
    at: "server_metadata",
    words: "Or it is registered already, and its browser window was blocked or was never opened.",
    remedy: "Allow pop-ups for the client, or open the address that it shows in a browser by hand.",
  },
];
