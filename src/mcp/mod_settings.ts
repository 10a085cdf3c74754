/** How MCP is spoken, and to whom. */
import { day, parseChoice, parseSeconds, required } from "../lib/settings.ts";

export const mcpSettings = {
  compatibility: required({
    env: "COMPATIBILITY",
    default: "auto",
    parse: parseChoice(["auto", "spec", "servicenow"]),
    help: "whose habits answers follow where ServiceNow's differ from the specification; auto looks at each client",
  }),
  structuredResults: required({
    env: "STRUCTURED_RESULTS",
    default: "auto",
    parse: parseChoice(["auto", "always", "never"]),
    help:
      "who gets structuredContent beside the text of results; auto: clients that declare experimental.structuredContent, and ServiceNow",
  }),
  toolFailures: required({
    env: "TOOL_FAILURES",
    default: "result",
    parse: parseChoice(["result", "error"]),
    help:
      "how ServiceNow's clients are told that a tool failed: as a result with isError, or as the JSON-RPC error -32603 of its guide",
  }),
  publicInitialize: required({
    env: "PUBLIC_INITIALIZE",
    default: "auto",
    parse: parseChoice(["auto", "always", "never"]),
    help: "who may do the MCP handshake without a token",
  }),
  toolTimeoutSeconds: required({
    env: "TOOL_TIMEOUT",
    default: "600",
    parse: parseSeconds(1, day),
    help: "seconds after which a tool call is stopped",
  }),
};
