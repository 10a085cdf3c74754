/** Causes of attempts that end before the token: on the way to the server, at its documents, at the registration, in the browser. */
import { stepKinds } from "./step.ts";
import { at, type Cause, type Facts, oldTransport } from "./cause.ts";

const cameBy = (sign: string) => ({ steps }: Facts): boolean => steps.some((step) => step.sign === sign);

const waitingWords = "The client was told to sign in, and waits until you ask it to.";
const waitingRemedy = "Start the sign-in in the client (Claude Code: /mcp, then Authenticate).";

/** How long the sign-in page stays open. */
const pageOpenMs = 600_000;

const isLoopback = (host: string | null): boolean => /^(localhost|127\.|\[::1\])/.test(host ?? "");

const isTwice = ({ base, prefix }: Facts): boolean => prefix !== null && prefix === base;
const isNotNamed = ({ prefix }: Facts): boolean => prefix !== null;

const twiceRemedy = "Let the proxy remove /PATH once, or pass it as it is: nginx `proxy_pass http://127.0.0.1:3000;`.";
const notNamedRemedy =
  "To serve it below /PATH, set SERVER_URL to the address that clients type, such as https://mcp.example.com/PATH[: the proxy may keep /PATH or remove it].";

export const causesOfSignIn: readonly Cause[] = [
  ...at("stray", [
    {
      id: "unknown_host",
      reasons: ["unknown_host"],
      words: "The client called the server by a name that the server does not know.",
      remedy: "Set SERVER_URL to the address that clients type. Further names go into ALLOWED_HOSTS.",
    },
    {
      id: "unknown_origin",
      reasons: ["unknown_origin"],
      words: "A web page of another origin called the server, which refuses that[, or a proxy sets the Origin header].",
      remedy:
        "If you know the page, add its origin to ALLOWED_ORIGINS.[ Let a proxy pass Origin as the client sent it.]",
    },
    {
      id: "malformed_address",
      reasons: ["malformed_address"],
      words:
        "The Host header and the request's target do not name one address: the client sends them so[, or a proxy rewrites one of them].",
      remedy: "Update the client.[ Let the proxy pass Host as the client sent it.]",
    },
    {
      id: "wrong_path",
      reasons: ["status_404", "status_405"],
      when: ({ step }) => /\/(sse|messages?)\/?$/.test(step.path ?? ""),
      ...oldTransport,
    },
    {
      id: "wrong_path",
      reasons: ["status_404", "status_405"],
      when: isTwice,
      words: "The client asks for a path that is not the server's: the proxy adds /PATH where it is already.",
      remedy: `Use the address that ends in /mcp. ${twiceRemedy}`,
    },
    {
      id: "wrong_path",
      reasons: ["status_404", "status_405"],
      when: isNotNamed,
      words: "The client asks for a path that is not the server's: it begins with /PATH.",
      remedy: `Use the address that ends in /mcp, as \`portcullis connect\` prints it. ${notNamedRemedy}`,
    },
    {
      id: "wrong_path",
      reasons: ["*"],
      words: "The client asks for a path that is not the server's[, or a proxy changes the path].",
      remedy:
        "Use the address that ends in /mcp, as `portcullis connect` prints it.[ Let the proxy pass paths unchanged.]",
    },
  ]),
  {
    id: "path_rule",
    at: ["resource_metadata", "server_metadata"],
    reasons: ["status_404"],
    when: isNotNamed,
    words: "The client looks for the server's documents where they are not, below /PATH.",
    remedy: `Enter the address that ends in /mcp, and update the client. ${notNamedRemedy}`,
  },
  {
    id: "path_rule",
    at: ["resource_metadata", "server_metadata"],
    reasons: ["status_404"],
    words: "The client looks for the server's documents where they are not, and gave up.",
    remedy:
      "Enter the address that ends in /mcp, and update the client.[ Let a proxy pass /.well-known/ as it is, without adding or removing a prefix.]",
  },
  ...at(stepKinds, [
    {
      id: "disk_full",
      reasons: ["disk_full"],
      words: "The disk of the server's database is full.",
      remedy: "Free some space: the server then continues.",
    },
    {
      id: "database_lost",
      reasons: ["status_503", "unavailable"],
      words: "The server could not use its database at that moment.",
      remedy:
        "Run `portcullis doctor`: it says whether the database can be reached, the disk is full, or a file is damaged.",
    },
    {
      id: "server_fault",
      reasons: ["status_500", "internal_error"],
      words: "The server failed: its disk may be full, or this is a bug.",
      remedy: "Run `portcullis doctor`, and look for request_failed in the log.",
    },
  ]),
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
      "Wait a minute.[ If all clients come from one address, set TRUST_PROXY to your proxy's address, so that each has its own limit.]",
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
    words:
      "The request came without its body, its Content-Type or its method: the client sends it so[, or a proxy or a redirect changed it].",
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
      "The client got its token, but its next request came without one: the client did not send it[, or a proxy removes the Authorization header].",
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
  ...at("reached", [
    {
      id: "old_transport",
      when: ({ steps }) => steps.every(({ kind, path }) => kind !== "reached" || path === "GET"),
      ...oldTransport,
    },
    {
      id: "documents_not_reached",
      when: ({ base }) => base !== null,
      words:
        "The client was told to sign in, and did not go on: it waits until you ask it to, or the proxy passes /PATH/ and not the documents, whose addresses end in it.",
      remedy:
        "Start the sign-in in the client (Claude Code: /mcp). If that fails, let the proxy pass the documents too, beside location /PATH/: `location ^~ /.well-known/oauth-protected-resource/PATH/ { proxy_pass http://127.0.0.1:3000; }` and `location ^~ /.well-known/oauth-authorization-server/PATH { proxy_pass http://127.0.0.1:3000; }` (nginx; docs/operations.md has Caddy).",
    },
    {
      id: "documents_not_reached",
      words:
        "The client was told to sign in and did not continue: it waits until you ask it to[, or a proxy passes /mcp alone].",
      remedy:
        "Start the sign-in in the client (Claude Code: /mcp).[ Let a proxy pass /.well-known/, /oauth/ and WWW-Authenticate too: `portcullis doctor` tries it.]",
    },
    {
      id: "no_oauth",
      words: "Or the client cannot sign in by OAuth, or is a monitor or a scanner.",
      remedy: "Give such a client a token: `portcullis token create`.",
    },
  ]),
  {
    id: "server_document_not_reached",
    at: "resource_metadata",
    words:
      "The client read which server to ask, and did not ask it: it waits until you ask it to sign in[, could not reach the address in SERVER_URL], or refused the document.",
    remedy:
      "Start the sign-in in the client (Claude Code: /mcp). SERVER_URL must be the address that the client uses, to the letter[: open it from the client's machine].",
  },
  ...at("server_metadata", [
    {
      id: "no_way_to_register",
      when: cameBy("registration_closed"),
      words: "The client read the server's documents and found no way to register.",
      remedy:
        "Make it by hand with `portcullis clients create` and enter its id in the client, or set REGISTRATION=open.",
    },
    {
      id: "waits_for_person",
      isNoFault: true,
      when: ({ isDirect }) => isDirect,
      words: waitingWords,
      remedy: waitingRemedy,
    },
    {
      id: "waits_for_person",
      when: ({ steps }) => steps.some(({ agent }) => /^claude-code/i.test(agent ?? "")),
      words: waitingWords,
      remedy: waitingRemedy,
    },
    {
      id: "oauth_path_blocked",
      words:
        "The client read the server's documents and stopped there: it waits until you ask it to sign in, or a proxy or firewall blocks /oauth/.",
      remedy:
        "Start the sign-in in the client. If that fails, let the proxy pass /oauth/ as it is, without adding or removing a prefix.",
    },
    {
      id: "pop_up_blocked_known",
      words: "Or it is registered already, and its browser window was blocked or was never opened.",
      remedy: "Allow pop-ups for the client, or open the address that it shows in a browser by hand.",
    },
  ]),
  {
    id: "client_held",
    at: ["registration", "token"],
    reasons: ["held", "client_held"],
    isNoFault: true,
    words: "The client asks for access in its own name (client credentials), and waits for the owner to approve it.",
    remedy: "Approve it on the Connections page, or with `portcullis clients approve`.",
  },
  ...at("registration", [
    {
      id: "metadata_refused",
      reasons: ["client_credentials_need_token"],
      words:
        "The client described itself in a way that the server cannot accept: for access in its own name (client credentials) it needs the registration token.",
      remedy: "Update the client, choose Authorization Code in it, or give it DCR_AUTH_TOKEN and approve it then.",
    },
    {
      id: "registration_off",
      reasons: ["registration_off"],
      words: "The client tried to register, and REGISTRATION is off.",
      remedy:
        "Make it by hand with `portcullis clients create` and enter its id in the client, or set REGISTRATION=open.",
    },
    {
      id: "registration_token",
      reasons: ["wrong_registration_token"],
      words: "The client tried to register without the registration token, or with a wrong one.",
      remedy:
        "Give it DCR_AUTH_TOKEN, make it by hand with `portcullis clients create`, or set REGISTRATION=open for clients that register themselves.",
    },
    {
      id: "redirect_forbidden",
      reasons: ["forbidden_redirect_uri", "missing_redirect_uris", "too_many_redirect_uris"],
      words: "None of the addresses that the client wants to be sent back to is allowed here.",
      remedy:
        "The address must be https, http on the client's own machine, or on a known application's scheme. For another scheme, make the client with `portcullis clients create --redirect-uri`.",
    },
    {
      id: "too_many_clients",
      reasons: ["too_many_unused_clients", "too_many_held_clients"],
      words: "Too many clients registered without being used.",
      remedy: "Wait ten minutes. A client that registers again and again needs an update.",
    },
    {
      id: "metadata_refused",
      reasons: ["*"],
      words: "The client described itself in a way that the server cannot accept; the last step says what.",
      remedy: "Update the client, or make it by hand with `portcullis clients create` and enter its id.",
    },
    {
      id: "pop_up_blocked",
      words:
        "The client registered, and no one has opened its sign-in page: a pop-up was blocked, there is no browser, or it waits for you.",
      remedy: "Open the address that the client shows in a browser, and allow pop-ups for the client.",
    },
    {
      id: "authorize_path_blocked",
      words: "Or a firewall or proxy blocks the person's browser at /oauth/authorize.",
      remedy: "Open the address that the client shows, and let the proxy pass /oauth/.",
      needsProxy: true,
    },
    {
      id: "registration_answer_refused",
      words: "Or the client did not understand the answer to its registration.",
      remedy: "Update the client, or make it by hand with `portcullis clients create` and enter its id.",
    },
  ]),
  {
    id: "query_missing",
    at: "authorization",
    reasons: ["unknown_client", "nothing_asked"],
    when: ({ step }) => step.sign === "no_query",
    words:
      "The sign-in page was opened without the client's request: by hand[, or a proxy drops what follows the question mark].",
    remedy: "[Let the proxy pass the whole address. ]Open the page from the client, which has the right address.",
  },
  {
    id: "unknown_client",
    at: ["authorization", "token", "refresh"],
    reasons: ["unknown_client"],
    words: "The client uses an id that is not registered here: it was removed, or it belongs to another server.",
    remedy: "Remove the connection in the client, with its stored data, and add it again.",
  },
  {
    id: "wrong_resource",
    at: ["authorization", "token", "refresh"],
    reasons: ["foreign_resource", "resource_mismatch"],
    words: "The client asked for another resource than this server.",
    remedy:
      "Enter the address that ends in /mcp in the client, as `portcullis connect` prints it, and check SERVER_URL.",
  },
  {
    id: "account_disabled",
    at: ["sign_in", "refused_token"],
    reasons: ["disabled_user"],
    words: "The person's account is disabled on this server.",
    remedy: "Enable it on the People page or with `portcullis users enable`, then connect again.",
  },
  {
    id: "client_id_missing",
    at: ["authorization", "token", "refresh"],
    reasons: ["nothing_asked", "missing_client"],
    when: ({ step }) => step.sign !== "no_query",
    words: "The client sent a request without its id (client_id).",
    remedy: "Enter the id in the client, or remove the connection there and add it again, so that it registers.",
  },
  ...at("authorization", [
    {
      id: "redirect_not_registered",
      reasons: ["redirect_uri_not_registered"],
      words: "The client asked to be sent back to an address that it has not registered.",
      remedy: "Remove the connection in the client and add it again. For one made by hand, correct its redirect URI.",
    },
    {
      id: "not_set_up",
      reasons: ["not_set_up"],
      words: "The server has no owner yet, so no one can sign in.",
      remedy: "Open the set-up link that the server prints at its start. A restart prints a new one.",
    },
    {
      id: "pkce_missing",
      reasons: [
        "code_challenge_missing",
        "code_challenge_not_s256",
        "code_challenge_malformed",
      ],
      words: "The client did not use PKCE with S256, which is required.",
      remedy: "Update the client. For one of your own, send code_challenge and code_challenge_method=S256.",
    },
    {
      id: "prompt_none",
      reasons: ["prompt_none"],
      words: "The client wants access without a page, and a person has to decide here each time.",
      remedy: "Connect again from the client so that it opens the page.",
    },
    {
      id: "client_documents_off",
      reasons: ["client_documents_off"],
      words: "The client's id is the address of a document, and this server does not fetch such documents.",
      remedy: "Set CLIENT_METADATA_DOCUMENTS=on, or let the client register itself (REGISTRATION=open).",
    },
    {
      id: "client_document_private",
      reasons: ["forbidden_address", "forbidden_url"],
      words:
        "The client's id is the address of a document that is not public: on a private network, or not at a plain https address.",
      remedy: "Publish the document at a public https address, or let the client register itself (REGISTRATION=open).",
    },
    {
      id: "client_document_unreachable",
      reasons: ["connection_failed", "host_unavailable", "timed_out", "unexpected_status", "unresolvable_host"],
      words: "The client's id is the address of a document, and the server could not fetch it; the last step says why.",
      remedy:
        "Try the address from this machine. If the client's site refuses data centres, set REGISTRATION=open and CLIENT_METADATA_DOCUMENTS=off.",
    },
    {
      id: "client_document_unusable",
      reasons: [
        "client_id_mismatch",
        "malformed_document",
        "malformed_response",
        "not_json",
        "response_too_large",
        "unexpected_content_type",
        "secret_in_document",
        "unsupported_document_authentication",
        "unsupported_document_grant",
        "unusable_keys",
        "unusable_redirect_uri",
      ],
      words: "The client's id is the address of a document that does not describe a client the server can accept.",
      remedy: "Update the client, or tell its maker: the document breaks the rules for client metadata documents.",
    },
    {
      id: "authorization_refused",
      reasons: ["*"],
      words: "The client's request for access was refused; the last step says why.",
      remedy: "Update the client, or remove the connection in it and add it again.",
    },
  ]),
  {
    id: "cookies_blocked",
    at: ["sign_in", "consent"],
    reasons: ["cookie_missing"],
    words:
      "The browser did not send the server's cookie: it blocks cookies, or the page was opened in another browser.",
    remedy: "Allow cookies for this site, and finish in the browser that the client opened.",
  },
  {
    id: "page_outdated",
    at: ["sign_in", "consent"],
    reasons: ["request_gone", "unknown_state", "other_browser", "other_person", "malformed"],
    words: "The page was answered when its request was no longer open: it was too late, or had been answered before.",
    remedy: "Start again from the client and answer within ten minutes.",
  },
  {
    id: "foreign_form",
    at: ["authorization", "sign_in", "consent"],
    reasons: ["status_403", "foreign_form"],
    words:
      "The request seems to come from a page of another origin[, or a proxy changes the Origin header or the address].",
    remedy: "Set SERVER_URL to the address that people type.[ Let the proxy pass Origin and Host unchanged.]",
  },
  ...at("sign_in", [
    {
      id: "throttled",
      reasons: ["too_many_attempts", "busy"],
      words: "There were too many wrong passphrases, so the person has to wait.",
      remedy: "Wait as long as the page says. `portcullis users sign-in-link` lets the person in at once.",
    },
    {
      id: "servicenow_refused",
      reasons: ["denied", "code_refused"],
      words:
        "ServiceNow did not sign the person in: they declined, may not use the application there, or it is misconfigured.",
      remedy: "Check the OAuth application in ServiceNow: its secret, its redirect URL and who may use it.",
    },
    {
      id: "servicenow_away",
      reasons: ["unavailable"],
      words: "The ServiceNow instance, where people sign in, did not answer.",
      remedy: "Open the instance in a browser: one for developers sleeps until then. Start again from the client.",
    },
    {
      id: "wrong_passphrase",
      reasons: ["wrong_passphrase", "unknown_user"],
      words: "The person could not sign in: the name or the passphrase was wrong.",
      remedy: "Try again. The owner can reset a passphrase on the People page or with `portcullis users`.",
    },
    {
      id: "sign_in_refused",
      reasons: ["*"],
      words: "The person could not sign in; the last step says why.",
      remedy: "Start again from the client. Where people sign in at ServiceNow, run `portcullis doctor`.",
    },
  ]),
  {
    id: "consent_refused",
    at: "consent",
    reasons: ["*"],
    words: "The page could not take the decision.",
    remedy: "Start again from the client.",
  },
  ...at("authorization", [
    {
      id: "person_slow",
      isNoFault: true,
      when: ({ silentMs }) => silentMs < pageOpenMs,
      words: "The sign-in page is open and waits for the person.",
      remedy: "Sign in on the page that the client opened.",
    },
    {
      id: "person_away",
      isNoFault: true,
      words: "The sign-in page was shown and no one signed in: the person closed it or never came.",
      remedy: "Start again from the client.",
    },
  ]),
  ...at("sign_in", [
    {
      id: "decision_open",
      isNoFault: true,
      when: ({ silentMs }) => silentMs < pageOpenMs,
      words: "The person signed in and has not decided yet.",
      remedy: "Choose Allow or Deny on the page.[ If that shows an error, a proxy does not pass /oauth/consent.]",
    },
    {
      id: "decision_missing",
      isNoFault: true,
      words: "The person signed in and closed the page without deciding.",
      remedy: "Start again from the client.[ If the decision shows an error, a proxy does not pass /oauth/consent.]",
    },
  ]),
  ...at("consent", [
    {
      id: "person_denied",
      reasons: ["denied"],
      isNoFault: true,
      words: "The person chose Deny.",
      remedy: "If that was a mistake, connect again from the client and choose Allow.",
    },
    {
      id: "loopback_not_reached",
      when: ({ redirectHost }) => isLoopback(redirectHost),
      words:
        "The person allowed access, and the client did not fetch its token: the client has ended, or the browser is on another machine.",
      remedy:
        "Start again from the client and keep it open. Use a browser on its machine, or forward its port (ssh -L).",
    },
    {
      id: "callback_failed",
      words: "The person allowed access, and the client did not fetch its token: its own return page failed.",
      remedy: "Try again, also in another browser. If it stays, update the client.",
    },
    {
      id: "token_path_blocked",
      words: "Or a firewall or proxy blocks the client at /oauth/token.",
      remedy: "Let it pass /oauth/ from the client's network, not only from the person's.",
      needsProxy: true,
    },
    {
      id: "window_lost",
      words: "Or the browser kept the window from returning to the client.",
      remedy: "Switch off extensions that block redirects, and keep the client's window open.",
    },
  ]),
];
