/** Tool parameters that modern clients repeat in `Mcp-Param-*` headers (MCP 2026-07-28, server/tools: x-mcp-header). */
import { isObject } from "../lib/json.ts";
import { decodeHeaderValue } from "./header_value.ts";

export interface HeaderParameter {
  /** The keys that lead to its value in the arguments. */
  readonly path: readonly string[];
  /** The header's name, in lower case. */
  readonly header: string;
  readonly isInteger: boolean;
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/; // RFC 9110 §5.6.2
const decimal = /^-?\d+(\.\d+)?$/;

/** Reads the declarations out of an input schema. Throws for one that clients would reject: they would hide the tool. */
export function findHeaderParameters(schema: Readonly<Record<string, unknown>>): readonly HeaderParameter[] {
  const found: HeaderParameter[] = [];
  const visit = (properties: unknown, path: readonly string[]): void => {
    if (!isObject(properties)) return;
    for (const [key, property] of Object.entries(properties)) {
      if (!isObject(property)) continue;
      const here = [...path, key];
      const name = property["x-mcp-header"];
      if (name !== undefined) found.push(toParameter(name, property["type"], here));
      visit(property["properties"], here);
    }
  };
  visit(schema["properties"], []);
  const declared = JSON.stringify(schema).split('"x-mcp-header":').length - 1;
  if (declared !== found.length) throw new TypeError("x-mcp-header is allowed only on properties of properties");
  if (new Set(found.map(({ header }) => header)).size !== found.length) {
    throw new TypeError("x-mcp-header repeats a name");
  }
  return found;
}

function toParameter(name: unknown, type: unknown, path: readonly string[]): HeaderParameter {
  if (typeof name !== "string" || !token.test(name)) {
    throw new TypeError(`x-mcp-header of ${path.join(".")} is no token`);
  }
  if (type !== "string" && type !== "integer" && type !== "boolean") {
    throw new TypeError(`x-mcp-header of ${path.join(".")} needs a string, an integer or a boolean`);
  }
  return { path, header: `mcp-param-${name.toLowerCase()}`, isInteger: type === "integer" };
}

/** How the headers and the arguments disagree, in words; `null` when they agree. */
export function headerParameterFault(
  parameters: readonly HeaderParameter[],
  input: unknown,
  headers: { header(name: string): string | null },
): string | null {
  for (const { path, header: name, isInteger } of parameters) {
    const value = path.reduce<unknown>(
      (node, key) => isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined,
      input,
    );
    if (value === undefined || value === null) continue; // no header is expected
    const sent = headers.header(name);
    if (sent === null) return `the ${name} header is required, since ${path.join(".")} has a value`;
    const decoded = decodeHeaderValue(sent);
    if (decoded === null) return `the ${name} header is not valid base64 of UTF-8`;
    const equal = isInteger && typeof value === "number" && decimal.test(decoded)
      ? Number(decoded) === value
      : decoded === String(value);
    if (!equal) return `the ${name} header does not match ${path.join(".")}`;
  }
  return null;
}
