/** Reads request bodies up to a limit, as JSON or as OAuth parameters. */
import type { Limits } from "./context.ts";
import { parseJson } from "../lib/json.ts";
import { type BodyRefusal, bodyTimeoutMs, readRequestText } from "../lib/request_text.ts";
import { failure, type Result, success } from "../lib/result.ts";

/** Why a body cannot be used. */
type BodyProblem = (typeof problemOf)[BodyRefusal] | "wrong_content_type" | "repeated_parameter";

/** A form, or the JSON of a registration. */
export const maxOAuthBodyBytes = 65_536;
export const maxQueryCharacters = 8_192;

/** Parameters of a request. Those without a value are treated as absent (RFC 6749 §3.2). */
export interface Parameters {
  get(name: string): string | undefined;
  /** `resource` alone may be repeated (RFC 8707 §2). */
  getAll(name: string): readonly string[];
}

function mediaType(request: Request): string {
  return (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

const problemOf = {
  too_large: "body_too_large",
  too_slow: "body_too_slow",
  too_fragmented: "malformed_body",
  over_share: "malformed_body",
  unreadable: "malformed_body",
  not_utf8: "malformed_body",
  encoded: "encoded_body",
} as const satisfies Record<BodyRefusal, string>;

/** The body's text; its Content-Type must be the given type. */
async function readText(
  request: Request,
  type: string,
  { bodyTimeoutMs: timeoutMs = bodyTimeoutMs }: Limits = {},
): Promise<Result<string, BodyProblem>> {
  if (mediaType(request) !== type) {
    await request.body?.cancel();
    return failure("wrong_content_type");
  }
  const text = await readRequestText(request, { maxBytes: maxOAuthBodyBytes, timeoutMs });
  return text.ok ? text : failure(problemOf[text.error]);
}

/** The body as JSON. */
export async function readJsonBody(request: Request, limits?: Limits): Promise<Result<unknown, BodyProblem>> {
  const text = await readText(request, "application/json", limits);
  if (!text.ok) return text;
  const json = parseJson(text.value);
  return json === undefined ? failure("malformed_body") : success(json);
}

/** A form as it was sent. */
export async function readForm(request: Request, limits?: Limits): Promise<Result<URLSearchParams, BodyProblem>> {
  const text = await readText(request, "application/x-www-form-urlencoded", limits);
  return text.ok ? success(new URLSearchParams(text.value)) : text;
}

/** The parameters of a form, or of the flat JSON object that the ServiceNow guide's clients send. */
export async function readParameters(request: Request, limits?: Limits): Promise<Result<Parameters, BodyProblem>> {
  if (mediaType(request) !== "application/json") {
    const form = await readForm(request, limits);
    return form.ok ? toParameters(form.value) : form;
  }
  const json = await readJsonBody(request, limits);
  if (!json.ok) return json;
  const pairs = jsonPairs(json.value);
  return pairs === null ? failure("malformed_body") : toParameters(pairs);
}

function jsonPairs(value: unknown): [string, string][] | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const pairs: [string, string][] = [];
  for (const [name, entry] of Object.entries(value)) {
    const texts: unknown[] = name === "resource" && Array.isArray(entry) ? entry : [entry];
    for (const text of texts) {
      if (text === null) continue;
      if (typeof text !== "string") return null;
      pairs.push([name, text]);
    }
  }
  return pairs;
}

/** Collects parameters; a repeated one (other than `resource`) is a refusal (RFC 6749 §3.1). */
export function toParameters(pairs: Iterable<readonly [string, string]>): Result<Parameters, "repeated_parameter"> {
  const values = new Map<string, string[]>();
  for (const [name, value] of pairs) {
    if (value === "") continue;
    const present = values.get(name);
    if (present === undefined) values.set(name, [value]);
    else if (name === "resource") present.push(value);
    else return failure("repeated_parameter");
  }
  return success({ get: (name) => values.get(name)?.[0], getAll: (name) => values.get(name) ?? [] });
}
