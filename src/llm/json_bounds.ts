/** Bounds of JSON that a caller or a model wrote, checked before anything walks it by recursion. */

/** Levels: deeper than anything meant for people. */
const maxJsonDepth = 128;
/** Values of a schema. Ollama compiles it into a grammar, which is slow long before this. */
const maxSchemaValues = 10_000;

export function isTooDeep(value: unknown): boolean {
  return measure(value, Infinity) === "deep";
}

/** What makes a schema too large to be sent, or null. Whether it is a schema at all is for Ollama to judge. */
export function schemaProblem(schema: unknown): string | null {
  switch (measure(schema, maxSchemaValues)) {
    case "deep":
      return `it has more than ${maxJsonDepth} levels`;
    case "large":
      return `it has more than ${maxSchemaValues} values`;
    case null:
      return null;
  }
}

function measure(root: unknown, maxValues: number): "deep" | "large" | null {
  let level: readonly unknown[] = [root];
  let values = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxJsonDepth) return "deep";
    values += level.length;
    if (values > maxValues) return "large";
    level = level.flatMap((value) => typeof value === "object" && value !== null ? Object.values(value) : []);
  }
  return null;
}
