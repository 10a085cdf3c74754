/** What can keep a client from connecting: one entry a cause. The entry says where it shows, and what to do. */
import type { Step, StepKind } from "../step.ts";

/** What a cause is judged by. */
export interface Facts {
  /** The step that the attempt stopped at. */
  readonly step: Step;
  readonly steps: readonly Step[];
  /** Milliseconds since the last step. */
  readonly silentMs: number;
  /** Whether there was a step of this kind, with this outcome and reason where they are given. */
  had(kind: StepKind, outcome?: Step["outcome"], reason?: string): boolean;
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
  readonly words: string;
  readonly remedy: string;
}
