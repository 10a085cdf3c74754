/** What a tool is: data plus one function. The protocol layer does the rest: schemas, validation, scopes, encoding. */
import type { z } from "zod";
import type { Principal } from "../lib/principal.ts";

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
  };

/** Behaviour hints for clients that ask their person before a call (MCP schema `ToolAnnotations`). */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** What a tool answers: a success, or a failure that the model is told in words (`isError: true`). */
export type ToolOutcome =
  | {
    readonly ok: true;
    readonly content: readonly ContentBlock[];
    /** Conforms to the tool's output schema; required when it has one. */
    readonly structuredContent?: Readonly<Record<string, unknown>>;
  }
  | {
    readonly ok: false;
    /** A stable snake_case reason for the audit log. */
    readonly code: string;
    /** What went wrong and what to do, for the model and its person; never a path outside the workspace. */
    readonly message: string;
  };

/** A step of a long call (MCP `notifications/progress`). `progress` must grow with each update. */
export interface ProgressUpdate {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** What a running tool may use. The same in every protocol revision. */
export interface ToolContext {
  readonly principal: Principal;
  /** Aborts when the caller cancels or is gone. Made on first use: quick tools never pay for it. */
  readonly signal: AbortSignal;
  /** Tells the caller how far the call is; does nothing when the caller did not ask for progress. */
  progress(update: ProgressUpdate): void;
}

/** A tool as data. `run` may answer at once, without a promise, and then costs no extra turn of the event loop. */
export interface Tool {
  /** snake_case, unique, under 50 characters. */
  readonly name: string;
  readonly title: string;
  /** One or two sentences: behaviour and constraints. */
  readonly description: string;
  /** All of these must be in the principal's effective scopes. */
  readonly scopes: readonly string[];
  readonly annotations: ToolAnnotations;
  /** A `z.object`; each property has a description. */
  readonly input: z.ZodType;
  /** The JSON schema to publish, for the rare input that zod cannot describe. Otherwise it is made from `input`. */
  readonly inputSchema?: Readonly<Record<string, unknown>> & { readonly type: "object" };
  /** A `z.object` for `structuredContent`, or nothing. */
  readonly output?: z.ZodType;
  readonly run: (input: never, context: ToolContext) => ToolOutcome | Promise<ToolOutcome>;
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
