/** A tool: data plus one function. The protocol layer does the rest: schemas, validation, scopes, encoding. */
import type * as z from "zod";
import type { Principal } from "../lib/principal.ts";
import type { Result } from "../lib/result.ts";
import type { Answers, AskFailure, ClientAbility, Questions } from "./question.ts";
import type { LoggingLevel } from "./jsonrpc.ts";

/** A content block of a tool result (MCP schema `ContentBlock`), as every protocol revision since 2025-03-26 has it. */
export type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly data: string; readonly mimeType: string }
  | {
    readonly type: "resource";
    readonly resource: {
      readonly uri: string;
      readonly mimeType?: string;
      readonly text?: string;
      readonly blob?: string;
    };
  }
  | ({ readonly type: "resource_link" } & ResourceNames);

/** What names a resource, in a link and in a list. */
export interface ResourceNames {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

/** A picture that clients may show (MCP 2025-11-25, schema `Icon`). */
export interface Icon {
  readonly src: string;
  readonly mimeType: string;
  readonly sizes: readonly string[];
}

/** Behaviour hints for clients that ask their person before a call (MCP schema `ToolAnnotations`). */
interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** What a tool answers: a success, or a failure with a message for the model (`isError: true`). */
export type ToolOutcome =
  | {
    readonly ok: true;
    readonly content: readonly ContentBlock[];
    /** Conforms to the tool's output schema; required when it has one. */
    readonly structuredContent?: Readonly<Record<string, unknown>>;
    /**
     * Of a dry run: what it was made from, so that an approval is for this and nothing else; `null` where that is too much
     * to compare. Callers do not get it.
     */
    readonly madeFrom?: string | null;
    /** Of an outcome that a tool gives for several calls: its JSON for each kind of caller so far. Begins empty. */
    readonly encoded?: Map<string, string>;
    /** What the client's view shows instead of the structured content; see `Tool.hasView`. */
    readonly view?: () => Readonly<Record<string, unknown>>;
  }
  | {
    readonly ok: false;
    /** A stable snake_case reason for the audit log. */
    readonly code: string;
    /** What went wrong and what to do, for the model and its person; never a path outside the workspace. */
    readonly message: string;
    /** The call that waits for a person, for the client's view. */
    readonly waiting?: { readonly id: string; readonly url: string };
    /** What there is in spite of the failure, such as the text up to it. The caller gets it after the message. */
    readonly partial?: {
      readonly content: readonly ContentBlock[];
      /** Conforms to the tool's output schema, as that of a success does. */
      readonly structuredContent?: Readonly<Record<string, unknown>>;
    };
  };

/** A step of a long call (MCP `notifications/progress`). `progress` must grow with each update. */
export interface ProgressUpdate {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** What a running tool, prompt or resource may use. The same in every protocol revision. */
export interface ToolContext {
  readonly principal: Principal;
  /** Aborts when the caller cancels or is gone. Made on first use: quick tools never pay for it. */
  readonly signal: AbortSignal;
  /** Fires a little before the caller, where that is known, or the server gives the call up: answer with what there is. */
  readonly answerNow: AbortSignal;
  /** Tells the caller how far the call is; does nothing when the caller did not ask for progress. */
  progress(update: ProgressUpdate): void;
  /** Sends a log message to the caller, if it asked for messages of this level. Never put secrets into it. */
  log(level: LoggingLevel, data: unknown, logger?: string): void;
  /** Names the change that the call makes, for its audit line. */
  noteChange(id: string): void;
  /** Whether the caller can be asked so, or takes tasks. */
  supports(ability: ClientAbility): boolean;
  /**
   * Asks the caller, its model or its person, all questions at once. Ask before doing anything: in one era the tool is
   * run again from its beginning once the answers are there. When the caller lacks the ability, or the answers are
   * still to come, the promise is rejected and the protocol layer answers for the tool: do not catch that.
   */
  ask<Key extends string>(questions: Questions<Key>): Promise<Result<Answers<Key>, AskFailure>>;
  /**
   * From here on the call may outlive its connection: a caller that takes tasks gets one at once, polls it, and may
   * cancel it; for any other this does nothing. With `required`, callers that take no tasks are refused.
   */
  handOut(options?: { readonly required?: boolean }): Promise<void>;
  /** Says that a person is waited for, until what it returns is called: meanwhile a batch keeps no others of its caller waiting. */
  standAside(): () => void;
  /** Ends the connection, not the call, where the caller can come back for the rest (SEP-1699); else does nothing. */
  release(): void;
}

/** The context with some members replaced. Its class keeps the rest to itself, so that no copy serves. */
export function contextWith(context: ToolContext, members: Partial<ToolContext>): ToolContext {
  return new Proxy(context, {
    get(target, name) {
      if (Object.hasOwn(members, name)) return Reflect.get(members, name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/**
 * What another name of an argument means: a parameter (`filename`, `options.seed`), or more. Also for a parameter's own
 * name, where callers send what is meant for another.
 */
export type Meaning = string | {
  /** The parameter; absent for what says nothing that is not so anyway. */
  readonly to?: string;
  /** Values by their text in lower case; `undefined` for ignored ones. Without `to`, any other is refused. */
  readonly values?: Readonly<Record<string, unknown>>;
  /**
   * `lines`: a range such as `2-4`, for `start_line` and `end_line`; `from_end`: below 0 it is the `tail`; `largest`: of
   * several names, the largest counts; `order`: what to sort by, with the way for `order`, such as `name desc`.
   */
  readonly as?: "opposite" | "largest" | "lines" | "from_end" | "order";
  /** Further parameters that it sets, unless they are given; with `first`: what entries have that do not say it themselves. */
  readonly sets?: Readonly<Record<string, unknown>>;
  /** Means it only with one of these beside it, in small letters without `_`, and without the parameter itself. */
  readonly beside?: readonly string[];
  /** Means it only in this form; `several`: a list of more than one. */
  readonly form?: "text" | "list" | "several";
  /** Of what no parameter does: the call that does it, for the refusal. */
  readonly instead?: string;
  /** Of a list: the parameter for its first entry, which callers leave out. */
  readonly first?: string;
};

/** The meaning of what has none for the tool, whatever its value. */
export const saysNothing: Meaning = {};

/** Meanings out of `{ filename: "path file" }`: each parameter with its other names. */
export function otherNames(names: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(names).flatMap(([parameter, others]) => others.split(" ").map((name) => [name, parameter])),
  );
}

/** Members of a parameter, by blanks, that callers give as parameters of their own. */
export function membersOf(parameter: string, names: string): Readonly<Record<string, string>> {
  return Object.fromEntries(names.split(" ").map((name) => [name, `${parameter}.${name}`]));
}

/** For `meta` of an optional text that an empty one leaves out. */
export const emptyIsAbsent = { empty: "absent" } as const;

/** For `meta` of a number that is lowered to its maximum, which the answer then says. */
export const clamped = { clamped: true } as const;

/** The one view of results. */
export const viewUri = "ui://portcullis/view.html";

/** A tool as data. Where `run` answers without a promise, the call needs no time-out and nothing to cancel it by. */
export interface Tool {
  /** snake_case, unique, under 50 characters. */
  readonly name: string;
  readonly title: string;
  /** One or two sentences: behaviour and constraints. */
  readonly description: string;
  /** Whose clients alone see it; for all others there is no such tool. */
  readonly profile?: "chatgpt";
  /** All of these must be in the principal's effective scopes. */
  readonly scopes: readonly string[];
  readonly annotations: ToolAnnotations;
  /** A `z.object`, or a `z.lazy` of one, which is built at its first use; each property has a description. */
  readonly input: z.ZodType;
  /** Other names for parameters, understood and not listed: `{ path: "filename", seed: "options.seed" }`. */
  readonly aliases?: Readonly<Record<string, Meaning>>;
  /** What tools of other servers are called that do the same, with blanks between: an unknown one gets this one's name. */
  readonly knownAs?: string;
  /** The JSON schema to publish, for the rare input that zod cannot describe. Otherwise it is made from `input`. */
  readonly inputSchema?: Readonly<Record<string, unknown>> & { readonly type: "object" };
  /** A `z.object` for `structuredContent`, or nothing. */
  readonly output?: z.ZodType;
  /** What a caller may ask for in one answer, where that is more than clients let pass unasked. */
  readonly maxResultCharacters?: number;
  /** Whether clients that show views (MCP Apps) show its results in the server's own, at {@link viewUri}. */
  readonly hasView?: true;
  /** Files or tables that every call is about, beside those in its parameters; an empty text for all there is. */
  readonly places?: readonly string[];
  readonly run: (input: never, context: ToolContext) => ToolOutcome | Promise<ToolOutcome>;
  /** Of a tool whose schema follows what is there: called with each list of tools, which does not wait for it. */
  readonly refresh?: () => void;
  /** Calls `changed` when its schema has changed: the list is made anew, and clients are notified. */
  readonly follow?: (changed: () => void) => void;
  /**
   * What a call would do, for a person who decides about it; or its failure. The first line says it whole, as in "Order
   * Developer Laptop for Petra Wolf, CHF 2,400"; a difference and details follow.
   */
  readonly preview?: (input: never, context: ToolContext) => Promise<string | ToolOutcome>;
}

/** Checks a tool's parts against each other at compile time: `run` receives what `input` parses to. */
export function defineTool<Input extends z.ZodType>(
  tool: Omit<Tool, "input" | "run"> & {
    readonly input: Input;
    readonly run: (input: z.output<Input>, context: ToolContext) => ToolOutcome | Promise<ToolOutcome>;
  },
): Tool {
  return tool;
}

/** It changes nothing. */
export const readingHints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

/** It may replace or delete what is there. */
export const changingHints = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: false,
} as const;
