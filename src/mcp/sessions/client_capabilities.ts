/** What a client says it can do: the part of it that this server acts on. */
import { isObject } from "../../lib/json.ts";

export const tasksExtension = "io.modelcontextprotocol/tasks";

/** Abilities that a tool may need of its caller. */
export type ClientAbility = "elicitation" | "sampling" | "roots" | "tasks";

export type ClientCapabilities = ReadonlySet<ClientAbility>;

/** A client that declared nothing. */
export const noCapabilities: ClientCapabilities = new Set();

/** Reads the `capabilities` of `initialize`, or the `clientCapabilities` of a modern request; tolerates any shape. */
export function parseClientCapabilities(declared: unknown): ClientCapabilities {
  if (!isObject(declared)) return noCapabilities;
  const abilities = new Set<ClientAbility>();
  for (const ability of ["elicitation", "sampling", "roots"] as const) {
    if (isObject(declared[ability])) abilities.add(ability);
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
    else encoded[ability] = {};
  }
  return encoded;
}
