/**
 * Which test shows which requirement of the documents that the project started from: the ServiceNow implementation
 * guide, the tools-only guide, the tools specification page, the pocket specification, the record resources. They are not
 * in this repository. The numbers follow their order, and only name the rows.
 *
 * Where the documents disagree, or a client would suffer:
 * - 11: a handshake that is public to all leaves SDK clients stuck, because they start OAuth only on a 401. Without a
 *   token it is answered to callers that ask for `application/json` alone, or whose name contains `servicenow`, and on a
 *   loopback `SERVER_URL` to those that accept anything, such as curl; `COMPATIBILITY=servicenow` follows the document.
 * - 21: 200 for callers without a token, 202 otherwise, as the specification says.
 * - 61: -32603 for tool failures is answered as `isError`, on which three of the documents agree.
 * - 79: Ollama's tag is `tinyllama`; `tinylama` is understood.
 * - 85: sub-folders are allowed in `filename`; what leaves the workspace is refused with the document's text.
 */
import assert from "node:assert/strict";

const root = new URL(".", import.meta.url);

const requirements: readonly (readonly [numbers: string, what: string, ...shownBy: (readonly [string, string])[]])[] = [
  ["1, 2, 6", "One endpoint carries every method; every answer is JSON-RPC 2.0 and echoes the id", [
    "end_to_end/official_sdks_test.ts",
    "signs in, calls the four tools",
  ], ["end_to_end/bad_input_test.ts", "bad input gets the status"]],
  ["3, 4", "Wrong `jsonrpc` -32600 and unknown method -32601, at HTTP 200, the latter after authentication", [
    "end_to_end/bad_input_test.ts",
    "bad input gets the status",
  ]],
  ["5", "An uncaught failure is 500 and -32603 without internals", [
    "mcp/endpoint_test.ts",
    "a failure inside a request is 500 and -32603 without internals",
  ]],
  ["7", "A long call switches to an event stream", [
    "mcp/streams_test.ts",
    "a long call becomes a stream whose idle connection is kept alive by comments",
  ]],
  ["8", "A stream ends with a response", ["mcp/streams_test.ts", "progress goes to callers that asked for it"], [
    "mcp/streams_test.ts",
    "subscriptions/listen acknowledges",
  ]],
  ["9", "Progress of long calls goes out on the stream", [
    "mcp/streams_test.ts",
    "progress goes to callers that asked for it",
  ], ["tools/llm_generate_test.ts", "llm_generate reports progress while the model speaks"]],
  ["10", "`notifications/cancelled` stops a call", [
    "mcp/streams_test.ts",
    "notifications/cancelled stops the call it names, of the same session",
  ]],
  ["11", "`initialize` without a token, for the clients that depend on it (see the note below)", [
    "mcp/handshake_test.ts",
    "the handshake is public to callers that read JSON alone",
  ]],
  ["12", "2025-03-26 and 2025-06-18 are spoken; the version asked for is answered", [
    "mcp/handshake_test.ts",
    "initialize answers the version asked for",
  ]],
  ["13, 15, 16, 20, 110", "Version, true capabilities, server name and version", [
    "mcp/handshake_test.ts",
    "initialize answers the version asked for",
  ], ["end_to_end/official_sdks_test.ts", "signs in, calls the four tools"]],
  ["14", "clientInfo is read, logged, and may be absent", [
    "mcp/handshake_test.ts",
    "initialize survives a client that says nothing of itself",
  ]],
  ["17, 18, 19", "The `tools` capability is declared, and `listChanged` is accurate", [
    "mcp/handshake_test.ts",
    "initialize answers the version asked for",
  ], ["mcp/scoped_lists_test.ts", "after step-up the client's open streams are told once"]],
  ["21, 22, 23", "`notifications/initialized`: empty answer, no token needed, a token tolerated", [
    "mcp/handshake_test.ts",
    "notifications/initialized gets an empty answer",
  ]],
  ["24, 26", "Everything else needs a valid token; 401 comes before the handler", [
    "end_to_end/bad_input_test.ts",
    "bad input gets the status",
  ], ["resource_server/guard_test.ts", "without a token there is no error in the challenge"]],
  ["25", "Bearer validation, JWT verification", [
    "authorization_server/access_token_test.ts",
    "wrong or missing claims",
  ], ["end_to_end/oauth4webapi_test.ts", "oauth4webapi: resource and server discovery"]],
  ["27", "Server, configuration, storage of the guide's Part 2", [
    "config/config_test.ts",
    "loadConfig() reports every problem at once",
  ], ["authorization_server/at_rest_test.ts", "clients, grants, revocations and signing keys survive"]],
  ["28, 30", "Calls are authenticated and rate-limited", [
    "end_to_end/bad_input_test.ts",
    "the 60 calls a minute of the guide are a setting",
  ]],
  ["29", "Access control: each tool has scopes", [
    "mcp/tools_call_test.ts",
    "tools/call refuses a token without the scopes before anything runs",
  ]],
  ["32, 33", "tools/list with name, description, inputSchema; names unique", [
    "mcp/tools_list_test.ts",
    "tools/list shows each tool as its revision has it",
  ]],
  ["34, 35", "Annotations and output schemas", [
    "mcp/tools_list_test.ts",
    "tools/list shows each tool as its revision has it",
  ], ["tools/file_tools_test.ts", "the file tools' schemas are flat objects"]],
  ["36, 37, 38", "Pages by cursor; `nextCursor` is an empty string at the end for ServiceNow", [
    "mcp/tools_list_test.ts",
    "tools/list pages by sealed cursors",
  ], ["mcp/tools_list_test.ts", "tools/list gives ServiceNow an empty cursor at the end"]],
  ["39, 40", "Works with `params: {}` and with none", [
    "mcp/tools_list_test.ts",
    "tools/list shows each tool as its revision has it",
  ]],
  ["44, 45, 49", "tools/call finds the tool by name before anything else", [
    "mcp/tools_call_test.ts",
    "tools/call refuses malformed params and unknown tools with -32602",
  ]],
  ["46, 47, 48, 67", "Arguments are checked against the schema; faults are reported as the revision requires", [
    "mcp/tools_call_test.ts",
    "tools/call says per revision what is wrong with the arguments",
  ]],
  ["50, 51, 54, 59, 60", "A result has content blocks and `isError`", [
    "mcp/tools_call_test.ts",
    "tools/call answers a quick tool",
  ]],
  ["55, 56, 57", "Images and audio as content", [
    "tools/file_read_parts_test.ts",
    "images and audio come as media content, with their type",
  ]],
  ["58", "Embedded resources, which can be fetched and watched", [
    "prompts/servicenow_test.ts",
    "each prompt hands over its task and the record",
  ], ["end_to_end/workspace_resources_test.ts", "legacy clients are notified of what they subscribe to"]],
  ["52", "`content` is never empty", [
    "mcp/tools_call_test.ts",
    "tools/call puts structured content into the content of a tool that gives no other",
  ]],
  [
    "53",
    "`structuredContent` is always there for ServiceNow (`{}` where the tool has none), and for clients that ask for it or with `COMPATIBILITY=structured`; others get each text once",
    ["mcp/result_form_test.ts", "a client gets each text once"],
    ["mcp/result_form_test.ts", "structured content is for all clients"],
    ["mcp/tools_call_test.ts", "tools/call leaves structured content out of the failure"],
  ],
  ["62, 63, 64, 68", "A tool that fails answers `isError: true`; nothing crashes", [
    "mcp/tools_call_test.ts",
    "tools/call hides why a tool threw",
  ], ["tools/file_tools_test.ts", "refusals say what is wrong"]],
  ["65, 66", 'Unknown tool -32602 "Unknown tool: X"', ["end_to_end/bad_input_test.ts", "bad input gets the status"]],
  ["69, 70", "Outputs are shown safely; content is marked as data", [
    "tools/file_tools_test.ts",
    "the file tools' schemas are flat objects",
  ], ["workspace/hostile_cases_test.ts", "hostile case"]],
  ["71, 87", "Sizes of reads, writes and lists are limited", [
    "workspace/disk_workspace_test.ts",
    "read() refuses more than maxReadBytes",
  ], ["workspace/disk_write_test.ts", "write() refuses more than maxWriteBytes"]],
  ["72, 73, 74, 75", "Names, descriptions and schemas of the tools", [
    "tools/file_tools_test.ts",
    "the file tools' schemas are flat objects",
  ], ["mcp/tools_list_test.ts", "a tool's schema is closed only where zod's is"]],
  ["76", "Declared defaults hold when an argument is absent", [
    "mcp/tools_call_test.ts",
    "tools/call answers a quick tool",
  ], ["tools/llm_generate_test.ts", "llm_generate advertises the operator's models"]],
  [
    "41, 42, 77",
    "The tool set may change at run time, and clients are notified",
    ["mcp/scoped_lists_test.ts", "after step-up the client's open streams are told once"],
    ["mcp/tools_list_test.ts", "tools/list follows the registry while the server runs"],
    ["mcp/streams_test.ts", "a session's stream tells when the tools change"],
  ],
  ["78", "Your own tool is one function in one file", [
    "mcp/documented_tool_test.ts",
    "docs/tools.md: the example is a working tool",
  ]],
  ["79", "`llm_generate` with prompt and model", [
    "tools/llm_generate_test.ts",
    "llm_generate advertises the operator's models",
  ], ["end_to_end/official_sdks_test.ts", "signs in, calls the four tools"]],
  ["80, 81, 82", "`file_read`, `file_write`, `file_list`", [
    "tools/file_tools_test.ts",
    "what file_write wrote, file_read gives back exactly",
  ], ["end_to_end/official_sdks_test.ts", "signs in, calls the four tools"]],
  ["83", "The workspace directory is a setting", ["config/config_test.ts", "loadConfig() with nothing set"], [
    "end_to_end/commands_test.ts",
    "serve prints one line on standard output",
  ]],
  ["84, 85, 86", "The documents' error texts", [
    "tools/file_tools_test.ts",
    "refusals say what is wrong, in the documents' words",
  ], ["mcp/tools_call_test.ts", "tools/call says per revision what is wrong with the arguments"]],
  ["88", "Nothing outside the workspace, no secret", ["workspace/hostile_cases_test.ts", "hostile case"], [
    "workspace/disk_confinement_test.ts",
    "a random tree with links never gives bytes",
  ]],
  ["89", "Time-outs on outside calls, network errors told well", [
    "ollama/client_faults_test.ts",
    "generate() survives every fault",
  ], ["tools/llm_generate_test.ts", "llm_generate gives up after timeout_ms"]],
  ["90", "Specific errors without internals", ["tools/llm_generate_test.ts", "llm_generate tells failures in words"], [
    "tools/file_tools_test.ts",
    "refusals say what is wrong",
  ]],
  ["43, 105, 106", "Calls are logged with their duration, failures with their cause, on the server only", [
    "end_to_end/commands_test.ts",
    "every call leaves one audit line",
  ], ["mcp/tools_call_test.ts", "tools/call hides why a tool threw"]],
  ["31, 104", "ServiceNow is asked with the rights of the person whose agent calls", [
    "end_to_end/servicenow_test.ts",
    "SIGN_IN=servicenow: two people of different rights",
  ], ["servicenow/records_test.ts", "two people see different records and fields"]],
  ["91, 92, 102, 103", "`my_profile` and four templates, named and described, for any SDK client", [
    "resources/servicenow_test.ts",
    "the document's own examples run with the SDK client (seed 001)",
  ]],
  ["93", "`servicenow://me` is the caller's profile", [
    "resources/servicenow_test.ts",
    "the document's own examples run with the SDK client (seed 001)",
  ], ["servicenow/records_test.ts", "me() gives the caller's profile and nothing of how the account is protected"]],
  ["94, 95, 96, 97, 98", "Incident, change, article and catalog item as JSON", [
    "resources/servicenow_test.ts",
    "read() gives each kind of record as JSON, by sys_id or number",
  ]],
  ["99", "A sys_id is checked before any call", [
    "resources/servicenow_test.ts",
    "read() refuses a malformed sys_id before any call",
  ]],
  ["100", "Errors are JSON content", [
    "resources/servicenow_test.ts",
    "read() answers every failure with JSON content and the documented message",
  ]],
  ["101", "Reading changes nothing and gives the current state", [
    "resources/servicenow_test.ts",
    "read() answers with the current state and changes nothing",
  ]],
  ["107, 108", "Hints let clients ask their person before a sensitive call", [
    "tools/file_tools_test.ts",
    "the file tools' schemas are flat objects",
  ]],
  ["109", "The server behaves under time-outs and cancels", [
    "mcp/http_test.ts",
    "a tool that waits is told when its caller hangs up",
  ], ["ollama/client_faults_test.ts", "generate() stops the model when its caller"]],
  ["61", "-32603 for tool failures is answered as `isError` instead: documents [002], [003] and [004] agree on it", [
    "mcp/tools_call_test.ts",
    "tools/call hides why a tool threw",
  ]],
];

Deno.test("every requirement is shown by tests that exist", async () => {
  for (const [numbers, what, ...shownBy] of requirements) {
    assert.ok(shownBy.length > 0, `${numbers}: ${what}`);
    for (const [file, name] of shownBy) {
      assert.ok(
        (await Deno.readTextFile(new URL(file, root))).includes(name),
        `${file} has no test ${JSON.stringify(name)}`,
      );
    }
  }
});

Deno.test("no requirement is named twice or left out", () => {
  const named = requirements.flatMap(([numbers]) => numbers.split(", ").map(Number)).toSorted((a, b) => a - b);
  assert.deepEqual(named, Array.from({ length: 110 }, (_, index) => index + 1));
});
