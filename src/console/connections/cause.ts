/** Why clients fail to connect: one row for each cause, with the step where it shows, the culprit, and the remedy. */
import type { Step, StepKind } from "./step.ts";

/** What a cause is judged by. */
export interface Facts {
  /** The step that the attempt stopped at. */
  readonly step: Step;
  readonly steps: readonly Step[];
  /** Milliseconds since the last step. */
  readonly silentMs: number;
  /** Whether there was a step of this kind, with this outcome and reason where they are given. */
  had(kind: StepKind, outcome?: Step["outcome"], reason?: string): boolean;
  /** No proxy is in front of the server. */
  readonly isDirect: boolean;
  /** The path of SERVER_URL, where the server shares its host by one. */
  readonly base: string | null;
  /** The path that the stopped step's address has before the server's own. */
  readonly prefix: string | null;
  /** The host that the browser is sent back to. */
  readonly redirectHost: string | null;
}

export interface Cause {
  /** A stable name. */
  readonly id: string;
  /** Where the attempt stops. */
  readonly at: StepKind | readonly StepKind[];
  /** The reasons of the refusal; without any, the step went well and nothing followed. `*` is any other refusal. */
  readonly reasons?: readonly string[];
  /** Further signs. */
  readonly when?: (facts: Facts) => boolean;
  /** Nothing is wrong: a person decides, or has decided. */
  readonly isNoFault?: true;
  /** Only a proxy can cause it. */
  readonly needsProxy?: true;
  /**
   * Names the culprit, or all possible ones if the steps do not show which. Text in brackets is about proxies,
   * and left out where none is in front; what follows in braces is in its place. `/PATH` is {@link Facts.prefix}, else
   * {@link Facts.base}.
   */
  readonly words: string;
  readonly remedy: string;
}

/** Causes that show at the same step, or at any of the same steps. */
export const at = (step: Cause["at"], causes: readonly Omit<Cause, "at">[]): readonly Cause[] =>
  causes.map((cause) => ({ at: step, ...cause }));

/** GET instead of POST: how the old transport begins. */
export const oldTransport = {
  words: "The client speaks the old HTTP+SSE transport, which this server does not have, and asks for its stream.",
  remedy:
    "Choose HTTP (Streamable HTTP) in the client instead of SSE, with the address that ends in /mcp, or update the client.",
} as const;
