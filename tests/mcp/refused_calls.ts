/** Refusals of the protocol's methods, each with the request that follows from its words. */

/** A request: its method and params, with what it says of itself. */
export interface Asked {
  readonly method: string;
  readonly params?: Record<string, unknown>;
  /** A legacy request is in a session; `none`: without one. */
  readonly era?: "legacy" | "legacy_without_session" | "modern";
  readonly headers?: Record<string, string | null>;
  /** Takes the place of the message: a batch, or one that breaks a rule. */
  readonly body?: unknown;
  /** `_meta` of a modern request. */
  readonly meta?: Record<string, unknown>;
}

/** What is asked, what the refusal says, and what is asked then. */
export type RefusedCall = readonly [Asked, RegExp, (found: RegExpExecArray, asked: Asked) => Asked];

const withParams = (params: Record<string, unknown>) => (_found: RegExpExecArray, asked: Asked): Asked => ({
  ...asked,
  params: { ...asked.params, ...params },
});
const without = (name: string) => (_found: RegExpExecArray, asked: Asked): Asked => {
  const { [name]: _left, ...params } = asked.params ?? {};
  return { ...asked, params };
};
const named = (name: string) => ([, meant]: RegExpExecArray, asked: Asked): Asked => ({
  ...asked,
  params: { ...asked.params, [name]: meant },
});
const alone = (_found: RegExpExecArray, { body: _body, ...asked }: Asked): Asked => asked;
const echo = (args: Record<string, unknown>): Asked => ({
  method: "tools/call",
  params: { name: "echo", arguments: args },
});
const echoWith = (args: Record<string, unknown>) => (): Asked => echo(args);
const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
const meant = /did you mean ([^ ?]+)\?/;
const byItself = /send (each message|it|this request) separately/;
const mustBe = /params\.(\w+) must be (a string|an object)/;

export const refusedCalls: readonly RefusedCall[] = [
  // tools
  [{ method: "tools/call", params: { name: "ecoh", arguments: { text: "a" } } }, meant, named("name")],
  [{ method: "tools/call", params: { name: "mcp__files__echo", arguments: { text: "a" } } }, meant, named("name")],
  [{ method: "tools/call", params: { name: "say", arguments: { text: "a" } } }, meant, named("name")],
  [{ method: "tools/call", params: { arguments: { text: "a" } } }, mustBe, withParams({ name: "echo" })],
  [{ method: "tools/call", params: { name: "echo", arguments: 3 } }, mustBe, withParams({ arguments: { text: "a" } })],
  [echo({}), /^(text) parameter is required$/, echoWith({ text: "a" })],
  [
    echo({ txet: "a" }),
    /has no (\w+); did you mean (\w+)\?/,
    ([, , name = ""]) => echo({ [name]: "a" }),
  ],
  [echo({ text: "a", times: 0 }), /(times) must be at least (\d)/, ([, , times]) => echo({ text: "a", times })],
  [echo({ text: "a", times: 9 }), /(times) must be at most (\d)/, ([, , times]) => echo({ text: "a", times })],
  [echo({ text: 1 }), /(text) must be a string/, echoWith({ text: "1" })],
  [
    { method: "tools/call", params: { name: "greet", arguments: { who: "a", person: "b" } } },
    /(\w+) and (\w+) are one parameter with different values; give one of them/,
    ([, name = ""]) => ({ method: "tools/call", params: { name: "greet", arguments: { [name]: "a" } } }),
  ],
  // lists
  ...["tools/list", "prompts/list", "resources/list", "resources/templates/list"].map((method): RefusedCall => [
    { method, params: { cursor: "x" } },
    /Invalid cursor: leave it out/,
    without("cursor"),
  ]),
  // prompts
  [{ method: "prompts/get", params: { name: "greting", arguments: { who: "a" } } }, meant, named("name")],
  [{ method: "prompts/get", params: {} }, mustBe, withParams({ name: "greeting", arguments: { who: "a" } })],
  [
    { method: "prompts/get", params: { name: "greeting" } },
    /^(\w+) parameter is required$/,
    ([, name = ""], asked) => ({
      ...asked,
      params: { name: "greeting", arguments: { [name]: "a" } },
    }),
  ],
  [
    { method: "prompts/get", params: { name: "greeting", arguments: { who: 3 } } },
    /params\.arguments must be an object of strings/,
    withParams({ arguments: { who: "3" } }),
  ],
  // completion
  [
    { method: "completion/complete", params: { ref: { type: "ref/prompt", name: "greeting" } } },
    /params\.argument must have a name and a value/,
    withParams({ argument: { name: "who", value: "a" } }),
  ],
  [
    { method: "completion/complete", params: { ref: "greeting", argument: { name: "who", value: "a" } } },
    /params\.ref must name a prompt or a resource template/,
    withParams({ ref: { type: "ref/prompt", name: "greeting" } }),
  ],
  [
    {
      method: "completion/complete",
      params: { ref: { type: "ref/prompt", name: "geeting" }, argument: { name: "who", value: "a" } },
    },
    meant,
    ([, name], asked) => ({ ...asked, params: { ...asked.params, ref: { type: "ref/prompt", name } } }),
  ],
  [
    {
      method: "completion/complete",
      params: { ref: { type: "ref/resource", uri: "notes://{nam}" }, argument: { name: "name", value: "a" } },
    },
    meant,
    ([, uri], asked) => ({ ...asked, params: { ...asked.params, ref: { type: "ref/resource", uri } } }),
  ],
  // resources
  [{ method: "resources/read", params: {} }, mustBe, withParams({ uri: "notes://today" })],
  [{ method: "resources/subscribe", params: {} }, mustBe, withParams({ uri: "notes://today" })],
  [
    { method: "resources/subscribe", params: { uri: "notes://today" }, era: "legacy_without_session" },
    /need a session: send initialize, and its Mcp-Session-Id with this request/,
    (_found, asked) => ({ ...asked, era: "legacy" }),
  ],
  // sessions and levels
  [
    { method: "tools/list", headers: { "mcp-session-id": "x" } },
    /Session not found: begin a new one with (\w+)/,
    ([, method = ""]) => ({ method, params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: {} } }),
  ],
  [{ method: "logging/setLevel", params: { level: "loud" } }, /must be one of: (\w+)/, named("level")],
  // batches
  [{ method: "ping", body: [ping, ping] }, byItself, alone],
  [{ method: "server/discover", era: "modern", body: [ping] }, byItself, alone],
  [
    { method: "ping", body: [{ ...ping, method: "initialize" }], headers: { "mcp-protocol-version": "2025-03-26" } },
    byItself,
    alone,
  ],
  // the modern era
  [
    { method: "tools/list", era: "modern", headers: { "mcp-method": null } },
    /Header mismatch: the (\S+) header is required/,
    ([, name = ""], asked) => ({ ...asked, headers: { [name.toLowerCase()]: "tools/list" } }),
  ],
  [
    { method: "tools/list", era: "modern", meta: { "io.modelcontextprotocol/clientCapabilities": undefined } },
    /_meta\["(.*)"\] is required/,
    ([, name = ""], asked) => ({ ...asked, meta: { [name]: {} } }),
  ],
  [
    { method: "tools/list", era: "modern", meta: { "io.modelcontextprotocol/clientInfo": { name: "a" } } },
    /_meta\["(.*)"\] must have a name and a version/,
    ([, name = ""], asked) => ({ ...asked, meta: { [name]: { name: "a", version: "1" } } }),
  ],
  [
    { method: "tools/list", era: "modern", meta: { "io.modelcontextprotocol/logLevel": "loud" } },
    /_meta\["(.*)"\] must be a log level/,
    ([, name = ""], asked) => ({ ...asked, meta: { [name]: "info" } }),
  ],
  [
    {
      method: "tools/list",
      era: "modern",
      headers: { "mcp-protocol-version": "2027-01-01" },
      meta: { "io.modelcontextprotocol/protocolVersion": "2027-01-01" },
    },
    /"supported":\["([\d-]+)"/,
    ([, version = ""], asked) => ({
      ...asked,
      headers: { "mcp-protocol-version": version },
      meta: { "io.modelcontextprotocol/protocolVersion": version },
    }),
  ],
  [
    { method: "tasks/get", era: "modern", params: { taskId: "x" } },
    /Unknown task: it may have expired; call the tool again/,
    echoWith({ text: "a" }),
  ],
  [{ method: "subscriptions/listen", era: "modern" }, mustBe, withParams({ notifications: {} })],
  [
    {
      method: "tools/call",
      era: "modern",
      params: { name: "who", arguments: {}, requestState: "x", inputResponses: {} },
    },
    /requestState is not valid for this request: leave it out/,
    without("requestState"),
  ],
];
