/** The scope catalogue: each scope's name, what it implies, and its words on the consent page. */

/** One scope as this server offers it. */
interface ScopeDefinition {
  readonly name: string;
  /** What the consent page says, continuing "… wants to". */
  readonly words: string;
  /** Scopes that this one includes. */
  readonly implies: readonly string[];
}

/** Every scope that this server knows, in the order in which people are shown them. */
export const scopeCatalogue: readonly ScopeDefinition[] = [
  { name: "files:read", words: "Read your files", implies: [] },
  { name: "files:write", words: "Read, create, change and delete your files", implies: ["files:read"] },
  { name: "llm:generate", words: "Use your local model", implies: [] },
  { name: "servicenow:read", words: "Read the ServiceNow records that you may see", implies: [] },
  {
    name: "servicenow:write",
    words: "Read, create, change, comment, order and approve in ServiceNow in your name",
    implies: ["servicenow:read"],
  },
];

/** The names of the scopes that an installation offers: those of ServiceNow only with an instance. */
export function offeredScopes({ servicenow }: { readonly servicenow: "off" | "read" | "write" }): readonly string[] {
  const hidden: Readonly<Record<typeof servicenow, readonly string[]>> = {
    off: ["servicenow:read", "servicenow:write"],
    read: ["servicenow:write"],
    write: [],
  };
  return scopeCatalogue.map(({ name }) => name).filter((name) => !hidden[servicenow].includes(name));
}

/** The scopes of `granted` that this server knows, with everything they imply (MCP 2026-07-28: scope hierarchies). */
export function effectiveScopes(granted: Iterable<string>): ReadonlySet<string> {
  const effective = new Set<string>();
  const add = (name: string): void => {
    const definition = scopeCatalogue.find((scope) => scope.name === name);
    if (definition === undefined || effective.has(name)) return;
    effective.add(name);
    definition.implies.forEach(add);
  };
  for (const name of granted) add(name);
  return effective;
}
