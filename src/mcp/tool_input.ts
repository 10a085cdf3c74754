/** Checks a call's arguments against the tool's schema and says in words what is wrong with them, all at once. */
import type * as z from "zod";
import { failure, type Result, success } from "../lib/result.ts";
import type { RegisteredTool } from "./registry.ts";
import { maxFaults, shownName, understandArguments } from "./argument_forms.ts";

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

/**
 * The arguments as the tool's `run` takes them, or a sentence for the model that names every fault. Other names and forms
 * that are certain are understood; `notes` gets what the answer has to say of that.
 */
export function parseToolInput(
  { tool, wholeSchema, parameters }: RegisteredTool,
  given: Readonly<Record<string, unknown>>,
  notes: string[] = [],
): Result<unknown, string> {
  if (isPlain(given, parameters)) {
    const parsed = tool.input.safeParse(given, { error: describeIssue });
    if (parsed.success) return success(parsed.data);
  }
  const understood = understandArguments(tool, wholeSchema, given);
  const { names, faults } = understood;
  const parsed = tool.input.safeParse(understood.input, { error: (issue) => describeIssue(issue, names) });
  if (parsed.success && faults.length === 0) {
    notes.push(...understood.notes);
    return success(parsed.data);
  }
  const issues = parsed.success ? [] : parsed.error.issues.map(({ message }) => message);
  return failure([...new Set([...faults, ...issues])].slice(0, maxFaults).join("; "));
}

/** Whether there is nothing in it to understand otherwise. */
function isPlain(given: Readonly<Record<string, unknown>>, parameters: ReadonlySet<string>): boolean {
  for (const name of Object.keys(given)) {
    const value = given[name];
    if (!parameters.has(name) || value === "" || typeof value === "object") return false;
  }
  return true;
}

const ownNames: ReadonlyMap<string, string> = new Map();

/** Texts for issues to which the tool's schema gives none of its own. They name the argument, never its value. */
function describeIssue(issue: z.core.$ZodRawIssue, names = ownNames): string {
  const name = shownName(issue.path ?? [], names);
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
