/**
 * Bounds that tests may change, by part; a number that is left out is the part's constant. Plain data,
 * so that a worker can be given it in its address.
 */
import type { Lifetimes, Limits } from "../oauth/mod.ts";
import type { EventStreamOptions } from "../http/mod.ts";
import type { RepeatBounds } from "../lib/log.ts";
import type { McpLimits } from "../mcp/mod.ts";
import type { OllamaLimits } from "../llm/mod.ts";
import type { StorageBounds } from "../storage/mod.ts";
import type { TransferLimits, WorkspaceLimits } from "../files/mod.ts";

export interface Bounds {
  /**
   * How long a client is kept waiting for a person, how soon it cannot answer for one, and how long a sign-in counts for
   * dangerous acts in the console.
   */
  readonly approval?: {
    readonly patienceMs?: number;
    readonly leastReadingMs?: number;
    readonly signInCountsMs?: number;
  };
  readonly authorizationServer?: Partial<Limits>;
  readonly lifetimes?: Partial<Lifetimes>;
  readonly healthChecksPerMinute?: number;
  readonly http?: { readonly bodyTimeoutMs?: number; readonly maxPublicBodyBytes?: number };
  /** How often it is looked at. */
  readonly certificate?: { readonly lookMs?: number };
  readonly eventStreams?: Partial<EventStreamOptions>;
  readonly log?: RepeatBounds;
  readonly mcp?: Partial<McpLimits>;
  readonly ollama?: Partial<OllamaLimits>;
  readonly storage?: StorageBounds;
  readonly sweepIntervalMs?: number;
  readonly transfers?: Partial<TransferLimits>;
  readonly workspace?: Partial<WorkspaceLimits>;
}
