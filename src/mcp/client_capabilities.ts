/** What a client says it can do: the part of it that this server acts on. */
import { isObject } from "../lib/json.ts";

export const tasksExtension = "io.modelcontextprotocol/tasks";

/** Abilities that a tool may need of its caller. */
export type ClientAbility = "elicitation" | "url_elicitation" | "sampling" | "roots" | "tasks";

export type ClientCapabilities = ReadonlySet<ClientAbility>;

/** A client that declared nothing. */
export const noCapabilities: ClientCapabilities = new Set();

/** Reads the `capabilities` of `initialize`, or the `clientCapabilities` of a modern request; tolerates any shape. */
export function parseClientCapabilities(declared: unknown): ClientCapabilities {
  if (!isObject(declared)) return noCapabilities;
  const abilities = new Set<ClientAbility>();
  for (const ability of ["sampling", "roots"] as const) if (isObject(declared[ability])) abilities.add(ability);
  const { elicitation } = declared;
  // Without a mode, a client means forms, as before there were pages (MCP 2025-11-25, client/elicitation).
  if (isObject(elicitation)) {
    const opensPages = isObject(elicitation["url"]);
    if (opensPages) abilities.add("url_elicitation");
    if (!opensPages || isObject(elicitation["form"])) abilities.add("elicitation");
  }
  const extensions = declared["extensions"];
  if (isObject(extensions) && isObject(extensions[tasksExtension])) abilities.add("tasks");
  return abilities;
}

/** The abilities as a `ClientCapabilities` object, for an error that says what is missing. */
export function encodeRequiredCapabilities(abilities: Iterable<ClientAbility>): Readonly<Record<string, unknown>> {
  const encoded: Record<string, unknown> = {};
  for (const ability of abilities) {
    if (ability === "tasks") encoded["extensions"] = { [tasksExtension]: {} };
    else if (ability === "url_elicitation") encoded["elicitation"] = { url: {} };
    else encoded[ability] = {};
  }
  return encoded;
}
