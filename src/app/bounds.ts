/**
 * Bounds that a test changes, by part: every number that is left out is the constant in the part itself. Plain data,
 * so that a worker can be given it in its address.
 */
import type { Lifetimes, Limits } from "../oauth/context.ts";
import type { EventStreamOptions } from "../http/mcp_response.ts";
import type { RepeatBounds } from "../lib/log.ts";
import type { McpLimits } from "../mcp/limits.ts";
import type { OllamaLimits } from "../llm/port.ts";
import type { StorageBounds } from "../storage/open_storage.ts";
import type { TransferLimits } from "../files/transfer/link_store.ts";
import type { WorkspaceLimits } from "../files/workspace/limits.ts";

export interface Bounds {
  /** How long a client is kept waiting for a person, and how soon it cannot answer for one. */
  readonly approval?: { readonly patienceMs?: number; readonly leastReadingMs?: number };
  readonly authorizationServer?: Partial<Limits>;
  readonly lifetimes?: Partial<Lifetimes>;
  readonly healthChecksPerMinute?: number;
  readonly http?: HttpBounds;
  readonly eventStreams?: Partial<EventStreamOptions>;
  readonly log?: RepeatBounds;
  readonly mcp?: Partial<McpLimits>;
  readonly ollama?: Partial<OllamaLimits>;
  readonly storage?: StorageBounds;
  readonly sweepIntervalMs?: number;
  readonly transfers?: Partial<TransferLimits>;
  readonly workspace?: Partial<WorkspaceLimits>;
}

interface HttpBounds {
  readonly bodyTimeoutMs?: number;
  readonly maxPublicBodyBytes?: number;
}
