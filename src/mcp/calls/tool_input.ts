/** Checks a call's arguments against the tool's schema and says in words what is wrong with them. */
import type { z } from "zod";
import { failure, type Result, success } from "../../lib/result.ts";

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

/** The arguments as the tool's `run` takes them, or a sentence for the model. Unknown arguments are ignored. */
export function parseToolInput(schema: z.ZodType, value: unknown): Result<unknown, string> {
  const parsed = schema.safeParse(value, parseOptions);
  if (parsed.success) return success(parsed.data);
  return failure(parsed.error.issues.slice(0, 5).map((issue) => issue.message).join("; "));
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
      return `unknown parameter: ${issue.keys.join(", ")}`;
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
