/**
 * Settings of the protocol: whose habits answers follow, and how long a call may take. `app` reads them before the rest
 * of mcp is loaded.
 */
import { day, parseChoice, parseSeconds, required } from "../lib/settings.ts";

/** Settings under the heading Protocol. */
export const mcpSettings = {
  compatibility: required({
    env: "COMPATIBILITY",
    default: "auto",
    parse: parseChoice(["auto", "structured", "spec", "servicenow", "guide"]),
    help: "whose habits answers follow; auto: each client's, structured: the same with structuredContent for all, " +
      "spec: the specification's, no handshake without a token, servicenow: ServiceNow's, a handshake without a token " +
      "for all, guide: auto with failed tools as -32603 for ServiceNow's clients",
  }),
  toolTimeoutSeconds: required({
    env: "TOOL_TIMEOUT",
    default: "600",
    parse: parseSeconds(1, day),
    help: "seconds after which a tool call is stopped",
  }),
};
