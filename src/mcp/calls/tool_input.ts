/** Checks a call's arguments against the tool's schema and says in words what is wrong with them, all at once. */
import type * as z from "zod";
import { isObject } from "../../lib/json.ts";
import { failure, type Result, success } from "../../lib/result.ts";
import type { RegisteredTool } from "../offers/tool_registry.ts";
import { asSchemaTypes } from "./canonical_text.ts";
import { nearestParameter } from "./nearest_parameter.ts";

/** What a JSON type is called in a sentence. */
const typeWords: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "an integer",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  null: "null",
};

/** The words for one bound of a size, by what is measured. */
const unitWords: Readonly<Record<string, string>> = {
  string: " characters",
  array: " items",
  set: " items",
  file: " bytes",
};

/** Faults that one refusal names. */
const maxFaults = 20;
/** Characters of an argument's name that a refusal repeats. */
const maxShownName = 64;
/** What MCP reserves wherever a caller passes an object (MCP 2025-11-25, basic: `_meta`). */
const protocolArguments: ReadonlySet<string> = new Set(["_meta"]);

/**
 * The arguments as the tool's `run` takes them, or a sentence for the model that names every fault. An alias of the tool
 * stands for its parameter. Numbers and booleans that arrive as text in their canonical form are taken as such.
 */
export function parseToolInput(
  registered: RegisteredTool,
  given: Readonly<Record<string, unknown>>,
): Result<unknown, string> {
  const { tool, wholeSchema } = registered;
  const input = withoutAliases(registered, given);
  const unknown = unknownArguments(registered, input);
  const parsed = tool.input.safeParse(input, parseOptions);
  if (parsed.success) return unknown.length === 0 ? success(parsed.data) : failure(unknown.join("; "));
  const again = tool.input.safeParse(asSchemaTypes(wholeSchema, input), parseOptions);
  if (again.success && unknown.length === 0) return success(again.data);
  const faults = again.success ? [] : again.error.issues.map(({ message }) => message);
  return failure([...unknown, ...new Set(faults)].slice(0, maxFaults).join("; "));
}

/** The arguments, and the entries of their lists, such as several edits, by the parameters' own names. */
function withoutAliases(
  { tool: { aliases }, parameters }: RegisteredTool,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (aliases === undefined) return given;
  let input = renamed(aliases, given);
  // of the tool's own lists alone: a caller may send any number of others
  for (const name of parameters) {
    const list = Object.hasOwn(input, name) ? input[name] : undefined;
    if (!Array.isArray(list)) continue;
    input = { ...input, [name]: list.map((entry) => isObject(entry) ? renamed(aliases, entry) : entry) };
  }
  return input;
}

function renamed(
  aliases: Readonly<Record<string, string>>,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  let input = given;
  for (const alias in aliases) { // without a list of entries, which cost each call
    if (!Object.hasOwn(given, alias)) continue;
    const [parameter = "", member] = (aliases[alias] ?? "").split(".");
    const holder = member === undefined ? input : input[parameter] ?? {};
    if (!isObject(holder) || Object.hasOwn(holder, member ?? parameter)) continue;
    const { [alias]: value, ...others } = input;
    input = { ...others, [parameter]: member === undefined ? value : { ...holder, [member]: value } };
  }
  return input;
}

/** A sentence for each argument that the tool does not have; none where its schema is open. */
function unknownArguments(
  { tool, wholeSchema, parameters }: RegisteredTool,
  input: Readonly<Record<string, unknown>>,
): readonly string[] {
  const additionalProperties = wholeSchema["additionalProperties"];
  if (additionalProperties !== undefined && additionalProperties !== false) return [];
  const faults: string[] = [];
  for (const name of Object.keys(input)) {
    if (parameters.has(name) || protocolArguments.has(name)) continue;
    const nearest = nearestParameter(name, parameters);
    const remedy = nearest !== null
      ? `did you mean ${nearest}?`
      : parameters.size === 0
      ? "it takes no arguments"
      : `it takes ${[...parameters].join(", ")}`;
    faults.push(`${tool.name} has no ${name.slice(0, maxShownName).toWellFormed()}; ${remedy}`);
    if (faults.length === maxFaults) break;
  }
  return faults;
}

/** Texts for issues to which the tool's schema gives none of its own. They name the parameter, never its value. */
const parseOptions = { error: (issue: z.core.$ZodRawIssue): string => describe(issue) };

function describe(issue: z.core.$ZodRawIssue): string {
  const name = parameterName(issue.path ?? []);
  if (issue.input === undefined && name !== "") return `${name} parameter is required`;
  const subject = name === "" ? "arguments" : name;
  switch (issue.code) {
    case "invalid_type":
      return `${subject} must be ${typeWords[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `${subject} must be one of: ${issue.values.map(String).join(", ")}`;
    case "too_small":
      return `${subject} must ${sizeVerb(issue.origin)} ${
        issue.inclusive === false ? "more than" : "at least"
      } ${issue.minimum}${unitWords[issue.origin] ?? ""}`;
    case "too_big":
      return `${subject} must ${sizeVerb(issue.origin)} ${
        issue.inclusive === false ? "less than" : "at most"
      } ${issue.maximum}${unitWords[issue.origin] ?? ""}`;
    case "invalid_format":
      return issue.pattern === undefined
        ? `${subject} must be a valid ${issue.format}`
        : `${subject} must match the pattern ${issue.pattern}`;
    case "not_multiple_of":
      return `${subject} must be a multiple of ${issue.divisor}`;
    case "unrecognized_keys":
      return name === "" ? `unknown parameter: ${issue.keys.join(", ")}` : `${name} has no ${issue.keys.join(", ")}`;
    default:
      return `${subject} is not valid`;
  }
}

function sizeVerb(origin: string): string {
  return origin in unitWords ? "have" : "be";
}

function parameterName(path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, part) => {
    if (typeof part === "number") return `${name}[${part}]`;
    return name === "" ? String(part) : `${name}.${String(part)}`;
  }, "");
}
