/** Questions to the client during a call: elicitation, sampling, roots. */
import * as z from "zod";
import { hasMoreParts, isObject } from "../lib/json.ts";

export const tasksExtension = "io.modelcontextprotocol/tasks";

/** Abilities that a tool may need of its caller. */
export type ClientAbility = "elicitation" | "url_elicitation" | "sampling" | "roots" | "tasks" | "structured_content";

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
  const { experimental } = declared;
  if (isObject(experimental) && isObject(experimental["structuredContent"])) abilities.add("structured_content");
  return abilities;
}

/** The abilities as a `ClientCapabilities` object, for an error that says what is missing. */
export function encodeRequiredCapabilities(abilities: Iterable<ClientAbility>): Readonly<Record<string, unknown>> {
  const encoded: Record<string, unknown> = {};
  for (const ability of abilities) {
    if (ability === "tasks") encoded["extensions"] = { [tasksExtension]: {} };
    else if (ability === "url_elicitation") encoded["elicitation"] = { url: {} };
    else if (ability === "structured_content") encoded["experimental"] = { structuredContent: {} };
    else encoded[ability] = {};
  }
  return encoded;
}

/** A field of a form (MCP schema `PrimitiveSchemaDefinition`). */
export type FormField = Readonly<Record<string, unknown>> & {
  readonly type: "string" | "number" | "integer" | "boolean" | "array";
};

export type Question =
  | {
    readonly method: "elicitation/create";
    readonly params: {
      readonly message: string;
      readonly requestedSchema: {
        readonly type: "object";
        readonly properties: Readonly<Record<string, FormField>>;
        readonly required?: readonly string[];
      };
    };
  }
  | {
    readonly method: "elicitation/create";
    /** A page for the person to open; what they do there, no client sees. */
    readonly params: { readonly mode: "url"; readonly message: string; readonly url: string };
  }
  | {
    readonly method: "sampling/createMessage";
    readonly params: {
      readonly messages: readonly {
        readonly role: "user" | "assistant";
        readonly content: { readonly type: "text"; readonly text: string };
      }[];
      readonly maxTokens: number;
      readonly systemPrompt?: string;
      readonly temperature?: number;
    };
  }
  | { readonly method: "roots/list"; readonly params?: Readonly<Record<string, never>> };

/** Questions by keys of the tool's own choice. */
export type Questions<Key extends string = string> = Readonly<Record<Key, Question>>;

/** Values in one answer: more than any form, or list of roots, has. */
const maxAnswerParts = 5_000;

const answerShapes = {
  "elicitation/create": z.lazy(() =>
    z.looseObject({
      action: z.enum(["accept", "decline", "cancel"]),
      content: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])).nullish(),
    })
  ),
  "sampling/createMessage": z.lazy(() =>
    z.looseObject({
      role: z.enum(["user", "assistant"]),
      model: z.string(),
      content: z.union([z.looseObject({ type: z.string() }), z.array(z.looseObject({ type: z.string() }))]),
      stopReason: z.string().optional(),
    })
  ),
  "roots/list": z.lazy(() =>
    z.looseObject({ roots: z.array(z.looseObject({ uri: z.string(), name: z.string().optional() })) })
  ),
};

/** An answer: which of the three shapes it has follows from the question. */
export interface Answer {
  /** elicitation */
  readonly action?: "accept" | "decline" | "cancel";
  readonly content?: unknown;
  /** sampling */
  readonly role?: "user" | "assistant";
  readonly model?: string;
  /** roots */
  readonly roots?: readonly { readonly uri: string; readonly name?: string }[];
}

export type Answers<Key extends string = string> = Readonly<Record<Key, Answer>>;

/** Why there are no answers. */
export interface AskFailure {
  readonly reason: "refused" | "timeout" | "unreachable";
  /** For the model and its person. */
  readonly message: string;
}

/** An answer checked against its question; `null` when it has the wrong shape. */
export function parseAnswer({ method }: Question, answer: unknown): Answer | null {
  if (hasMoreParts(answer, maxAnswerParts)) return null;
  const parsed = answerShapes[method].safeParse(answer);
  return parsed.success ? parsed.data as Answer : null;
}
