/** Why clients fail to connect: a table of causes, each with the step where it shows, the culprit, and the remedy. */
import { postBecameGet, type Step, type StepKind, stepKinds } from "./step.ts";

/** What a cause is judged by. */
export interface Facts {
  /** The step that the attempt stopped at. */
  readonly step: Step;
  readonly steps: readonly Step[];
  /** Milliseconds since the last step. */
  readonly silentMs: number;
  /** No proxy is in front of the server. */
  readonly isDirect: boolean;
  /** The path of SERVER_URL, where the server shares its host by one. */
  readonly base: string | null;
  /** The path that the stopped step's address has before the server's own. */
  readonly prefix: string | null;
  /** The host that the browser is sent back to. */
  readonly redirectHost: string | null;
}

/** How long the sign-in page stays open. */
const pageOpenMs = 600_000;
/** A token that is refused this soon after it was issued has not simply expired. */
const freshTokenMs = 10_000;

const reachedAlways = (way: string) => ({ steps }: Facts): boolean =>
  steps.every(({ kind, path }) => kind !== "reached" || path === way);
const cameBy = (sign: string) => ({ steps }: Facts): boolean => steps.some((step) => step.sign === sign);
/** There was a step of this kind and outcome, with one of the reasons. */
const had = (kind: StepKind, outcome: Step["outcome"], ...reasons: readonly (string | null)[]) => ({ steps }: Facts) =>
  steps.some((step) => step.kind === kind && step.outcome === outcome && reasons.includes(step.reason));

/** Signs beside the step and its reason, by the names that the table gives them. */
const conditions: Readonly<Record<string, (facts: Facts) => boolean>> = {
  agent_is_claude_code: ({ steps }) => steps.some(({ agent }) => /^claude-code/i.test(agent ?? "")),
  came_by_other_host: (facts) => cameBy("other_host")(facts) || cameBy("direct_other_host")(facts),
  came_by_other_scheme: cameBy("other_scheme"),
  clock_jumped({ step, steps }) {
    if (step.reason === "wrong_claims" || step.sign === "clock_jumped") return true;
    return step.kind === "refused_token" && step.sign !== "clock_steady" &&
      steps.some(({ kind, outcome, last }) =>
        (kind === "token" || kind === "refresh") && outcome === "ok" && Math.abs(step.time - last) < freshTokenMs
      );
  },
  code_was_replayed: had("token", "refused", "replayed_code"),
  credentials_were_added: (facts) =>
    had("reached", "refused", "other_scheme")(facts) ||
    had("refused_token", "refused", "malformed_token", "token_of_other_kind", "token_of_other_server")(facts),
  has_prefix: ({ prefix }) => prefix !== null,
  host_is_shared: ({ base }) => base !== null,
  issuer_is_named: ({ step }) => step.host !== null,
  no_proxy: ({ isDirect }) => isDirect,
  only_redirected_posts: reachedAlways(postBecameGet),
  only_streams_were_asked_for: reachedAlways("GET"),
  page_is_closed: ({ silentMs }) => silentMs >= pageOpenMs,
  path_of_old_transport: ({ step }) => /\/(sse|messages?)\/?$/.test(step.path ?? ""),
  prefix_is_twice: ({ base, prefix }) => prefix !== null && prefix === base,
  query_is_missing: ({ step }) => step.sign === "no_query",
  redirect_is_loopback: ({ redirectHost }) => /^(localhost|127\.|\[::1\])/.test(redirectHost ?? ""),
  refresh_was_replayed: had("refresh", "refused", "reused_refresh_token"),
  registered_itself: had("registration", "ok", null),
  registration_is_closed: cameBy("registration_closed"),
  token_was_issued: ({ steps }) => steps.some(({ kind, outcome }) => kind === "token" && outcome === "ok"),
  tool_was_called: had("call", "ok", "tools/call", "answered"),
  tools_were_listed: had("call", "ok", "tools/list"),
};

/**
 * The most likely first; those with a condition before those without. A row has a head for each place where it shows:
 * a stable name, then the kinds of steps at which the attempt stops, then
 *
 * - `refused`: the reasons of the refusal, `*` for any other; without it, the step went well and nothing followed,
 * - `if`: a further condition,
 * - `no fault`: nothing is wrong, a person decides, or has decided.
 *
 * After the heads, one line names the culprit, or all possible ones if the steps do not show which, and one the remedy,
 * if there is something to do. Indented lines go on with the one above. Text in brackets is about proxies, and left out
 * where none is in front; what follows in braces is in its place. `/PATH` is {@link Facts.prefix}, else
 * {@link Facts.base}.
 */
const table = `
clock_wrong: token refresh refused_token; refused expired_token expired_code expired_refresh_token wrong_claims;
  if clock_jumped
What was issued a moment ago is refused for its time: this machine's clock jumped, or instances differ.
Set this machine's clock (NTP), on every instance, and connect again.

credentials_added: token refresh; refused client_id_mismatch malformed_basic_credentials
  several_authentication_methods unknown_client wrong_authentication_method wrong_client_secret;
  if credentials_were_added
Every request comes with an Authorization header that is not the client's own: it is in the client's configuration[,
  or a proxy adds it].
Remove it from [the proxy, or from ]the headers in the client's configuration.

code_replayed: token refused_token reached; refused replayed_code revoked_token; if code_was_replayed
The client used its code twice. The second use revokes what the first one got, as it could be a thief's.
Connect again. If it stays, update the client: two windows or processes of it handle the same answer.

refresh_replayed: token refresh refused_token; refused reused_refresh_token revoked_token unknown_refresh_token;
  if refresh_was_replayed
The client used an old refresh token again, so its access was revoked: a copy of it may have been stolen.
Connect again. Do not run two copies of a client with the same stored tokens.

code_late: token; refused expired_code
The client brought its code too late.
Connect again without a pause. If the code is pasted by hand, paste it within a minute.

code_unknown: token; refused unknown_code code_of_another_client missing_code
The client brought a code that is not its own, or that was never issued or was removed long ago.
Connect again. If it stays, remove the connection in the client and add it again.

pkce_wrong: token; refused wrong_code_verifier missing_code_verifier
The client's PKCE verifier does not fit: it is missing, or belongs to another attempt of the same client.
Close the client's other sign-in windows and connect again.

redirect_changed: token; refused redirect_uri_mismatch
The client named another return address for its token than for its code.
Update the client.[ Behind a proxy, check the public address in the client's configuration.]

client_assertion: token refresh; refused invalid_client_assertion replayed_client_assertion
The client's signed proof of itself is not valid: its clock is wrong, or its key has changed or expired.
Set the clocks of both machines (NTP), and check the keys that the client has published.

client_secret_expired: token refresh; refused expired_client_secret
The client's secret has expired.
Make a new client with \`portcullis clients create\` and enter its id and secret.

client_secret: token refresh; refused client_id_mismatch wrong_client_secret wrong_authentication_method
  malformed_basic_credentials several_authentication_methods
The client did not prove itself as it was registered: its secret is wrong, or it sent it in another way.
Enter the client's secret again, or remove the connection in the client and add it again.

unknown_scope: token refresh; refused scope_exceeds_client scope_exceeds_grant
The client asked for a scope that is unknown here, or for more than it was allowed.
Remove the scope from the client's configuration, or connect again and tick it on the page.

account_disabled: sign_in refused_token; refused disabled_user disabled
The person's account is disabled on this server.
Enable it on the People page or with \`portcullis users enable\`, then connect again.

user_not_active: token refresh; refused user_not_active
Since the person allowed access, their account was disabled, its passphrase changed, their groups lost the rights that
  the client asks for, or the company's identity provider does not confirm them any more.
Enable the account on the People page if it is disabled, or correct the groups, then connect again.

provider_ended: refused_token; refused ended_by_provider
The company's identity provider ended the person's access: it refused them, they signed out there, or lost the group.
If that is wrong, correct it at the provider, then connect again.

provider_silent: refused_token; refused not_confirmed_by_provider
The company's identity provider has not confirmed the person for longer than is borne: it cannot be asked.
Sign in again. If people have to do so each time, have the provider issue refresh tokens (offline_access);
  \`portcullis doctor\` examines the provider.

assertion_invalid: token; refused invalid_identity_assertion replayed_identity_assertion missing_assertion
The assertion of the company's identity provider does not fit: it is for another server or client, expired, or was used
  before. The audit says which.
At the provider, check the application's client ID and this server's address. If times differ, set the clocks.

assertion_of_stranger: token; refused person_not_admitted
The company's identity provider vouches for a person who may not use this server, or does not say the person's groups.
Check OIDC_ALLOW, and have the provider put groups into the assertion; or let the person sign in here once.

refresh_of_another_client: token refresh; refused refresh_token_of_another_client
The client registered again but still uses the refresh token of its earlier registration.
Remove the connection in the client, with its stored data, and add it again.

refresh_expired: token refresh; refused expired_refresh_token unknown_refresh_token
The client's access has ended: it was not used for a long time, or someone ended it.
Connect again from the client.

token_refused: token refresh; refused unsupported_grant_type grant_type_not_registered
The client's request for a token was refused: it asked in a way (grant type) that is not open to it.
Update the client, or choose Authorization Code in it.

token_refused: token refresh; refused *
The client's request for a token was refused: it lacks a parameter or has one twice[, or a proxy removes its
  body]; the last step says which.
Update the client, or remove the connection in it and add it again.

path_not_passed: token
The client got its token and sent nothing more: [a proxy, firewall or CDN blocks /mcp, or the client stopped]{it waits
  for you, or has ended}.
[Check their rules for /mcp, let AI agents pass (\`portcullis doctor\` tries it as Claude-User) and try again]{Continue
  in the client (Claude Code: /mcp shows whether it is connected)}. If it does not help, restart the client.

token_expired: refused_token; refused expired_token
The client's token has expired, and the client did not renew it.
Reconnect in the client. If that happens every hour, update the client or raise ACCESS_TOKEN_LIFETIME.

token_revoked: refused_token; refused revoked_token unknown_operator_token
The client's access was removed: on the Connections page, by a new passphrase, from the command line, or by the
  client.
Connect again from the client. For a command-line token, create a new one.

wrong_audience: refused_token; refused wrong_audience wrong_issuer
The token is for another server or another address: SERVER_URL has changed, or the client mixed up servers.
Remove the connection in the client and add it again. Keep SERVER_URL the same.

token_of_other_server: refused_token; refused token_of_other_server
key_unknown: refused_token; refused unknown_signing_key; if issuer_is_named
The token was issued by another server (its issuer is not SERVER_URL), so it is not accepted here.
Remove that token from the client's configuration so that it signs in here, or use \`portcullis token create\`.

token_of_other_server: refused_token; refused token_of_other_kind
The token is none of this server's: it is another server's, the key of an API, or a placeholder.
Remove it from the client's configuration so that it signs in, or use a token of \`portcullis token create\`.

key_unknown: refused_token; refused unknown_signing_key bad_signature
The token was signed with a key that this server does not have: keys were rotated, or the data is another's.
Connect again from the client. Several instances have to share one database.

refresh_token_sent: refused_token; refused refresh_token_as_bearer
The client sent its refresh token instead of its access token.
Update the client.

header_mangled: refused_token; refused malformed_authorization several_authorizations malformed_token
The Authorization header is malformed: the token was cut, a placeholder was not filled in[, or a proxy adds its own
  token]{, or two were joined}.
[Let the proxy pass the Authorization header unchanged. ]Enter a token again, whole, or remove it so that the client
  signs in.

bad_token: refused_token; refused *
The token is not one of this server's.
Remove the connection in the client and add it again.

session_dead: call; refused status_404
The client keeps using a session that has ended, and does not start a new one.
Restart the client, or reconnect in it.

scope_missing: call; refused status_403 insufficient_scope
The client may not do what it tried: its person did not tick that scope.
Connect again from the client and tick the scope, or use a token with it.

wrong_content_type: call; refused status_415
The client's request does not have the Content-Type application/json[, or a proxy removes it].
Update the client[, or let the proxy pass Content-Type unchanged].

body_encoded: call; refused encoded_body
The client[, or a proxy,] compresses its requests (Content-Encoding), which the server does not read.
Switch that off in the client[ or the proxy], or update the client.

streams_given_up: stream; refused given_up
The client opened its stream several times and left it each time, without a call: it cannot use it[, or a proxy holds
  back or cuts off event streams].
[Switch off buffering of text/event-stream in the proxy, and raise its time limit for /mcp. Then restart]{Restart} the
  client.

answers_cut: call; refused answers_cut cancelled
Calls that took long ended without their answer: the client [or a proxy ]did not wait for it, or its person stopped
  it.
Raise the time limit for tools in the client (Claude Code: MCP_TOOL_TIMEOUT)[ and for /mcp in the proxy], or let the
  agent ask for less at once.

servicenow_not_linked: call; refused servicenow_not_linked servicenow_link_expired
The client is connected, and its call failed: the person's ServiceNow account is not linked, or no longer.
The person links it on their Access page, under Your ServiceNow account.

system_away: call; refused servicenow_unavailable ollama_unreachable
The client is connected, and its call failed: ServiceNow, or the local model's server, does not answer.
Run \`portcullis doctor\`: it says whether they can be reached.

call_awaits_approval: call; refused approval_pending denied_by_rule denied_by_person; no fault
The client is connected, and its call waits for a person's approval, or was refused by a rule or a person.
The Approvals page of the console has what waits, the Rules page what is refused.

body_refused: call; refused status_400
The server could not read the client's request: it is no MCP message, or of an unknown version.
Update the client.[ Behind a proxy, let it pass bodies and the Mcp- headers unchanged.]

body_too_large: call; refused status_413
The client's request is too large for the server to read.
Let the agent send less at once, or upload large files by a link.

body_slow: call; refused status_408
The client's request did not arrive whole in time: its connection is slow[, or a proxy holds it back].
Try again over a better connection.[ Let the proxy pass bodies as they come.]

redirected: reached; if only_redirected_posts
redirected: stream; refused post_became_get
The client's POST to /mcp arrived as a GET: it was sent to another address, which redirects to this one[, or a proxy
  redirects it to add a slash or https].
Enter the address exactly as \`portcullis connect\` prints it.[ Let the proxy pass /mcp without a redirect.] If nothing
  redirects, update the client: it has to use POST.

wrong_method: call; refused wrong_method
The client calls /mcp by another HTTP method than POST, by which calls are sent.
Update the client, or choose HTTP (Streamable HTTP) in it.

stopped: call; refused stopped
Calls are stopped, or this client is paused, by an administrator.
Resume calls in the console.

call_refused: call; refused *
The client is connected, and its first requests failed.
Search the audit for the client: \`portcullis audit list --client ID\`.

went_well: call refresh; if tool_was_called; no fault
The client is connected and has called a tool.

renewed: refresh; no fault
The client renewed its access.

no_call_yet: call; if tools_were_listed; no fault
The client is connected and has read the list of tools. It has not called one yet.
Ask the agent for something that needs a tool. If it sees none, switch the connection off and on in the client.

connected: call stream; no fault
The client is connected and has not read the list of tools yet.
Ask the agent for something. If it sees no tools, restart the client.

unknown_host: stray; refused unknown_host
The client called the server by a name that the server does not know[, or a proxy changes the Host header].
If the name is yours, set SERVER_URL to the address that clients type; further names go into ALLOWED_HOSTS. A name that
  you do not know may be a web page's attempt to reach the server (DNS rebinding).[ Let the proxy pass Host unchanged.]

malformed_address: stray; refused malformed_address
The Host header and the request's target do not name one address: the client sends them so[, or a proxy rewrites one
  of them].
Update the client.[ Let the proxy pass Host as the client sent it.]

unknown_origin: stray; refused unknown_origin
A web page of another origin called the server, which refuses that[, or a proxy sets the Origin header].
If you know the page, add its origin to ALLOWED_ORIGINS.[ Let a proxy pass Origin as the client sent it.]

disk_full: any; refused disk_full
The disk of the server's database is full.
Free some space: the server then continues.

database_lost: any; refused status_503 unavailable
The server could not use its database at that moment.
Run \`portcullis doctor\`: it says whether the database can be reached, the disk is full, or a file is damaged.

server_fault: any; refused status_500 internal_error
The server failed: its disk may be full, or this is a bug.
Run \`portcullis doctor\`, and look for request_failed in the log.

calls_limited: call stream; refused status_429 rate_limited
The client sends more calls than MCP_RATE_LIMIT allows in a minute, and was told to wait.
Wait a minute. If the agent needs more calls, raise MCP_RATE_LIMIT.

rate_limited: any; refused status_429 rate_limited
The client, or others at its address, sent too many requests, and was told to wait.
Wait a minute.[ If all clients come from one address, set TRUST_PROXY to your proxy's address, so that each has its
  own limit.]

token_in_url: reached; refused token_in_url
The client sent a token or a key in the address, where logs keep it. The server takes none there.
Remove it from the address, so that the client signs in, or configure it as the header Authorization: Bearer.

request_changed: registration authorization sign_in consent token refresh; refused wrong_content_type encoded_body
  malformed_body status_405 status_415
The request came by another method than POST, or without its body or Content-Type: the client sends it so[, or a
  proxy or a redirect changed it].
[Let the proxy pass method, body and headers unchanged, and redirect nothing under /oauth/. Without a proxy,
  update]{Update} the client.

other_credentials: reached; refused other_scheme
The client[, or a proxy,] sent credentials that are no Bearer token, such as a password or the key of an API.
Remove them from the client's[ or the proxy's] configuration so that it signs in, or use a token of \`portcullis token
  create\`.

header_removed: reached handshake; if token_was_issued
The client got its token, but its next request came without one: the client did not send it[, or a proxy removes the
  Authorization header].
[Let the proxy pass the Authorization header to /mcp. If there is no proxy, restart]{Restart} the client, then update
  it.

public_handshake_only: handshake
The client's first request was answered without a token, and the client took that to mean that none is needed.
Set COMPATIBILITY=spec, then remove the connection in the client and add it again.

other_address: reached resource_metadata server_metadata; if came_by_other_host
The client came by another name than SERVER_URL. The documents name SERVER_URL, so the client refuses them[; or a
  proxy sends another name in Host or X-Forwarded-Host].
Set SERVER_URL to the address that clients type, and start the server again.[ If it is that already, correct the
  headers in the proxy.]

other_scheme: reached resource_metadata server_metadata; if came_by_other_scheme
The client came by https and SERVER_URL says http, or the other way round, so the client refuses the documents[; or a
  proxy sends the wrong X-Forwarded-Proto].
Set SERVER_URL to the address that clients type, https included, and start the server again.[ If it is that already,
  correct X-Forwarded-Proto in the proxy.]

wrong_path: stray; refused status_404 status_405; if path_of_old_transport
old_transport: reached; if only_streams_were_asked_for
old_transport: stream; refused status_405
The client speaks the old HTTP+SSE transport, which this server does not have, and asks for its stream.
Choose HTTP (Streamable HTTP) in the client instead of SSE, with the address that ends in /mcp, or update the client.

wrong_path: stray; refused status_404 status_405; if prefix_is_twice
The client asks for a path that is not the server's: the proxy adds /PATH where it is already.
Use the address that ends in /mcp. Let the proxy remove /PATH once, or pass it as it is: nginx \`proxy_pass
  http://127.0.0.1:3000;\`.

wrong_path: stray; refused status_404 status_405; if has_prefix
path_rule: resource_metadata server_metadata; refused status_404; if has_prefix
The client asks for a path that is not the server's, or looks for the server's documents where they are not: it begins
  with /PATH.
Use the address that ends in /mcp, as \`portcullis connect\` prints it. To serve it below /PATH, set SERVER_URL to the
  address that clients type, such as https://mcp.example.com/PATH[: the proxy may keep /PATH or remove it].

path_rule: resource_metadata server_metadata; refused status_404
The client looks for the server's documents where they are not, and gave up.
Enter the address that ends in /mcp, and update the client.[ Let a proxy pass /.well-known/ as it is, without adding
  or removing a prefix.]

wrong_path: stray; refused *
The client asks for a path that is not the server's[, or a proxy changes the path].
Use the address that ends in /mcp, as \`portcullis connect\` prints it.[ Let the proxy pass paths unchanged.]

documents_not_reached: reached; if host_is_shared
The client was told to sign in, and did not go on: it waits until you ask it to, or the proxy passes /PATH/ and not
  the documents, whose addresses end in it.
Start the sign-in in the client (Claude Code: /mcp). If that fails, let the proxy pass the documents too, as in nginx:
  \`location ^~ /.well-known/oauth-protected-resource/PATH/ { proxy_pass http://127.0.0.1:3000; }\` and the same for
  \`/.well-known/oauth-authorization-server/PATH\` (docs/operations.md).

documents_not_reached: reached
The client was told to sign in and did not continue: it waits until you ask it to[, or a proxy passes /mcp alone].
Start the sign-in in the client (Claude Code: /mcp).[ Let a proxy pass /.well-known/, /oauth/ and WWW-Authenticate
  too: \`portcullis doctor\` tries it.]

no_oauth: reached
Or the client cannot sign in by OAuth, or is a monitor or a scanner.
Give such a client a token: \`portcullis token create\`.

server_document_not_reached: resource_metadata
The client read which server to ask, and did not ask it: it waits until you ask it to sign in[, could not reach the
  address in SERVER_URL], or refused the document.
Start the sign-in in the client (Claude Code: /mcp). SERVER_URL must be the address that the client uses, to the
  letter[: open it from the client's machine].

registration_off: registration; refused registration_off
no_way_to_register: server_metadata; if registration_is_closed
The client found no way to register: REGISTRATION is not open.
Make it by hand with \`portcullis clients create\` and enter its id in the client, or set REGISTRATION=open.

registration_token: registration; refused wrong_registration_token
The client tried to register without the registration token, or with a wrong one.
Give it DCR_AUTH_TOKEN, make it by hand with \`portcullis clients create\`, or set REGISTRATION=open for clients that
  register themselves.

waits_for_person: server_metadata; if no_proxy; no fault
waits_for_person: server_metadata; if agent_is_claude_code
The client was told to sign in, and waits until you ask it to.
Start the sign-in in the client (Claude Code: /mcp, then Authenticate).

oauth_path_blocked: server_metadata
The client read the server's documents and stopped there: it waits until you ask it to sign in, or a proxy or firewall
  blocks /oauth/.
Start the sign-in in the client. If that fails, let the proxy pass /oauth/ as it is, without adding or removing a
  prefix.

pop_up_blocked_known: server_metadata
Or it is registered already, and its browser window was blocked or was never opened.
Allow pop-ups for the client, or open the address that it shows in a browser by hand.

client_held: registration token; refused held client_held; no fault
The client asks for access in its own name (client credentials), and waits for the owner to approve it.
Approve it on the Connections page, or with \`portcullis clients approve\`.

redirect_forbidden: registration; refused forbidden_redirect_uri missing_redirect_uris too_many_redirect_uris
None of the addresses that the client wants to be sent back to is allowed here.
The address must be https, http on the client's own machine, or on a known application's scheme. For another scheme,
  make the client with \`portcullis clients create --redirect-uri\`.

metadata_refused: registration; refused client_credentials_need_token
The client described itself in a way that the server cannot accept: for access in its own name (client credentials) it
  needs the registration token.
Update the client, choose Authorization Code in it, or give it DCR_AUTH_TOKEN and approve it then.

too_many_clients: registration; refused too_many_unused_clients too_many_held_clients
Too many clients registered without being used.
Wait ten minutes. A client that registers again and again needs an update.

metadata_refused: registration; refused *
The client described itself in a way that the server cannot accept; the last step says what.
Update the client, or make it by hand with \`portcullis clients create\` and enter its id.

pop_up_blocked: registration
The client registered, and no one has opened its sign-in page: a pop-up was blocked, there is no browser, or it waits
  for you[, or a firewall or proxy blocks /oauth/authorize].
Open the address that the client shows in a browser, and allow pop-ups for the client.[ Let the proxy pass /oauth/.]

registration_answer_refused: registration
Or the client did not understand the answer to its registration.
Update the client, or make it by hand with \`portcullis clients create\` and enter its id.

query_missing: authorization; refused unknown_client nothing_asked; if query_is_missing
The sign-in page was opened without the client's request: by hand[, or a proxy drops what follows the question mark].
[Let the proxy pass the whole address. ]Open the page from the client, which has the right address.

client_id_missing: authorization token refresh; refused nothing_asked missing_client
The client sent a request without its id (client_id).
Enter the id in the client, or remove the connection there and add it again, so that it registers.

unknown_client: authorization token refresh; refused unknown_client
The client uses an id that is not registered here: it was removed, or it belongs to another server.
Remove the connection in the client, with its stored data, and add it again.

wrong_resource: authorization token refresh; refused foreign_resource resource_mismatch
The client asked for another resource than this server.
Enter the address that ends in /mcp in the client, as \`portcullis connect\` prints it, and check SERVER_URL.

redirect_of_its_own: authorization; refused redirect_uri_not_registered; if registered_itself
The client registered its return addresses, and then asked to be sent back to another or named no return address.
Update the client. If you can set its return address, make both the same: \`localhost\` and 127.0.0.1 are two
  addresses, while the port may differ on the client's own machine.

redirect_not_registered: authorization; refused redirect_uri_not_registered
The client asked to be sent back to an address that it has not registered.
Remove the connection in the client and add it again. For one made by hand, correct its redirect URI.

not_set_up: authorization; refused not_set_up
The server has no owner yet, so no one can sign in.
Open the set-up link that the server prints at its start. A restart prints a new one.

pkce_missing: authorization; refused code_challenge_missing code_challenge_not_s256 code_challenge_malformed
The client did not use PKCE with S256, which is required.
Update the client. For one of your own, send code_challenge and code_challenge_method=S256.

prompt_none: authorization; refused prompt_none
The client wants access without a page, and a person has to decide here each time.
Connect again from the client so that it opens the page.

client_documents_off: authorization; refused client_documents_off
The client's id is the address of a document, and this server does not fetch such documents.
Set CLIENT_METADATA_DOCUMENTS=on, or let the client register itself (REGISTRATION=open).

client_document_private: authorization; refused forbidden_address forbidden_url
The client's id is the address of a document that is not public: on a private network, or not at a plain https
  address.
Publish the document at a public https address, or let the client register itself (REGISTRATION=open).

client_document_unreachable: authorization; refused connection_failed host_unavailable timed_out unexpected_status
  unresolvable_host too_many_fetches
The client's id is the address of a document, and the server could not fetch it; the last step says why.
Try the address from this machine; where it answers, wait a minute and connect again. If the client's site refuses data
  centres, set REGISTRATION=open and CLIENT_METADATA_DOCUMENTS=off.

client_document_unusable: authorization; refused client_id_mismatch malformed_document malformed_response not_json
  response_too_large unexpected_content_type secret_in_document unsupported_document_authentication
  unsupported_document_grant unusable_keys unusable_redirect_uri
The client's id is the address of a document that does not describe a client the server can accept.
Update the client, or tell its maker: the document breaks the rules for client metadata documents.

authorization_refused: authorization; refused *
The client's request for access was refused; the last step says why.
Update the client, or remove the connection in it and add it again.

cookies_blocked: sign_in consent; refused cookie_missing
The browser did not send the server's cookie: it blocks cookies, or the page was opened in another browser.
Allow cookies for this site, and finish in the browser that the client opened.

page_outdated: sign_in consent; refused request_gone unknown_state other_browser other_person malformed
The page was answered when its request was no longer open: it was too late, or had been answered before.
Start again from the client and answer within ten minutes.

foreign_form: authorization sign_in consent; refused status_403 foreign_form
The request seems to come from a page of another origin[, or a proxy changes the Origin header or the address].
Set SERVER_URL to the address that people type.[ Let the proxy pass Origin and Host unchanged.]

throttled: sign_in; refused too_many_attempts busy
There were too many wrong passphrases, or too many sign-ins at once (busy), so the person has to wait.
Wait as long as the page says, or sign in with a browser that the person used before.

person_not_let_in: sign_in; refused not_allowed
The company's identity provider signed the person in, and no rule of OIDC_ALLOW fits them.
Have the person put into a group that OIDC_ALLOW names, or name them there.

provider_away: token; refused provider_unavailable
provider_away: sign_in; refused unreachable timed_out server_error unexpected_status not_json too_large
  malformed_answer other_issuer
The company's identity provider, where people sign in, did not give an answer that can be used.
\`portcullis doctor\` examines the provider: its discovery, keys and clock. Then start again from the client.

provider_clock: sign_in; refused expired not_yet_valid
The clocks of this server and of the company's identity provider are more than a minute apart.
Set this machine's clock (NTP), on every instance, and start again from the client.

provider_refused: sign_in; refused refused no_id_token no_auth_time not_signed_in_anew groups_left_out
The company's identity provider refused this server, or left out what is needed of the person.
Check the application at the provider: its secret, its redirect address and the claims of its ID tokens.

provider_untrusted: sign_in; refused malformed_token symmetric_or_unsigned wrong_type bad_signature wrong_issuer
  wrong_audience wrong_nonce wrong_at_hash other_subject other_issuer_answered
What the browser or the company's identity provider brought is not from the provider, or not for this sign-in.
Start again from the client. If it stays, check OIDC_ISSUER and OIDC_CLIENT_ID: the log has the reason.

servicenow_refused: sign_in; refused denied code_refused
The system where people sign in (ServiceNow, or the company's identity provider) did not sign the person in: they
  declined, may not use the application there, or it is misconfigured.
Check the application there: its secret, its redirect address and who may use it.

servicenow_away: sign_in; refused unavailable
The ServiceNow instance, where people sign in, did not answer.
Open the instance in a browser: one for developers sleeps until then. Start again from the client.

wrong_passphrase: sign_in; refused wrong_passphrase unknown_user
The person could not sign in: the name or the passphrase was wrong.
Try again. The owner can reset a passphrase on the People page or with \`portcullis users\`.

sign_in_refused: sign_in consent; refused *
The page could not take the person's answer; the last step says why.
Start again from the client. Where people sign in at ServiceNow, run \`portcullis doctor\`.

person_away: authorization; if page_is_closed; no fault
The sign-in page was shown and no one signed in: the person closed it or never came.
Start again from the client.

person_slow: authorization; no fault
The sign-in page is open and waits for the person.
Sign in on the page that the client opened.

decision_missing: sign_in; if page_is_closed; no fault
The person signed in and closed the page without deciding.
Start again from the client.[ If the decision shows an error, a proxy does not pass /oauth/consent.]

decision_open: sign_in; no fault
The person signed in and has not decided yet.
Choose Allow or Deny on the page.[ If that shows an error, a proxy does not pass /oauth/consent.]

person_denied: consent; refused denied; no fault
The person chose Deny.
If that was a mistake, connect again from the client and choose Allow.

loopback_not_reached: consent; if redirect_is_loopback
The person allowed access, and the client did not fetch its token: the client has ended, or the browser is on another
  machine[, or a firewall or proxy blocks /oauth/token].
Start again from the client and keep it open. Use a browser on its machine, or forward its port (ssh -L).

callback_failed: consent
The person allowed access, and the client did not fetch its token: its own return page failed, or an extension kept the
  window from it[, or a firewall or proxy blocks the client at /oauth/token].
Try again, also in another browser. If it stays, update the client.[ Let the proxy pass /oauth/ from the client's
  network, not only from the person's.]
`;

const headPattern = /^([a-z_]+): ([^;]+)(?:; refused ([^;]+))?(?:; if (\w+))?(; no fault)?$/;

function parseHead(head: string) {
  const [, id, names = "", refused, sign, noFault] = headPattern.exec(head) ?? [];
  const when = sign === undefined ? () => true : conditions[sign];
  const at: readonly string[] = names === "any" ? stepKinds : names.split(" ");
  const isKnown = at.every((name) => (stepKinds as readonly string[]).includes(name));
  if (id === undefined || when === undefined || !isKnown) throw new TypeError(`Not the head of a cause: ${head}`);
  return { id, at, reasons: refused?.split(" ") ?? null, when, isNoFault: noFault !== undefined };
}

/** The rows of the table, one for each head. */
export const allCauses = table.trim().split("\n\n").flatMap((row) => {
  const lines = row.replaceAll("\n  ", " ").split("\n");
  const end = lines.findLastIndex((line) => headPattern.test(line)) + 1;
  const [words = "", remedy = ""] = lines.slice(end);
  return lines.slice(0, end).map((head) => ({ ...parseHead(head), words, remedy }));
});
