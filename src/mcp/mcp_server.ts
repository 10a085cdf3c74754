/** The protocol server: takes one parsed body and says what to answer. It knows no HTTP beyond statuses. */
import { type Clock, systemClock, systemTimers, type Timers } from "../lib/time.ts";
import type { Principal } from "../lib/principal.ts";
import { noTracer, type Tracer } from "../lib/tracer.ts";
import type { McpAnswer } from "./message_stream.ts";
import type { Exchange, Runtime, ServerParts, StructuredResults } from "./call.ts";
import { type BodyHandler, createBodyHandler, createPublicHandshake, type PublicHandshake } from "./body_handler.ts";
import { createChangeHub, createScopeNotices } from "./notices.ts";
import { createTasks } from "./tasks.ts";
import { type CallWatch, createInFlight, noCallWatch } from "./in_flight.ts";
import type { Storage } from "../storage/mod.ts";
import { type McpLimits, mcpLimits } from "./limits.ts";
import { createMessageHandler, createMethodTable, createRequestObserver } from "./message_handler.ts";
import { createPendingQuestions } from "./pending_questions.ts";
import type { Profile } from "./profile.ts";
import { createPromptRegistry, type PromptRegistry } from "./prompt.ts";
import { createResourceRegistry, type ResourceRegistry } from "./resource.ts";
import { createModernRevision } from "./revision.ts";
import { createSessionStreams } from "./session_streams.ts";
import { createSessions } from "./session.ts";
import { createStreamIds, createStreamTable } from "./stream_table.ts";

/** What a server offers, and what it depends on. */
export interface McpServerOptions extends ServerParts {
  /** Extensions that this installation has around the protocol, such as those of its authorization server. */
  readonly extensions?: readonly string[];
  readonly prompts?: PromptRegistry;
  readonly resources?: ResourceRegistry;
  /** Keeps what changes in sessions, and tasks. */
  readonly storage: Storage;
  /** Without it, no spans are written and no caller's trace is passed on. */
  readonly tracer?: Tracer;
  /** Sees calls while they run, and may stop them. */
  readonly callWatch?: CallWatch;
  /** Takes note of a client's name and returns the profile to use from here on; see `createProfiles`. */
  readonly noteClient?: (principal: Principal, clientName: string | null, readsStreams: boolean) => Profile;
  /** Calls back when the principal's token is revoked, which ends its streams, until the returned function is called. */
  readonly watchToken?: (principal: Principal, onRevoked: () => void) => () => void;
  readonly clock?: Clock;
  readonly timers?: Timers | undefined;
  /** Limits other than {@link mcpLimits}. */
  readonly limits?: Partial<McpLimits> | undefined;
  /** Default: `auto`. */
  readonly structuredResults?: StructuredResults;
}

/** The protocol, for a transport: HTTP and stdio share one. */
export interface McpServer {
  /** Answers one parsed body. Rejects only when the storage is lost. */
  readonly handle: BodyHandler;
  /** Answers one parsed body of a caller without a token: the public part of the handshake. */
  readonly handlePublic: PublicHandshake;
  /** Answers HTTP's GET: a stream of notices for a legacy session. */
  openStream(exchange: Exchange): Promise<McpAnswer>;
  /** Answers HTTP's DELETE: the end of a legacy session. */
  endSession(exchange: Exchange): Promise<McpAnswer>;
  readonly openStreams: number;
  /** Ends the streams that last: calls that run go on. */
  drain(): void;
  /** Asks the calls that run to answer now with what they have. */
  hurry(): void;
  /** Gives up everything that is still open; resolves when the tasks that ran are stored as cancelled. */
  close(): Promise<void>;
}

/**
 * Makes the server. It opens nothing and begins no timer before the first request; `close` ends what is open by then.
 */
export function createMcpServer(options: McpServerOptions): McpServer {
  const { tools, log, secretBox, storage, clock = systemClock, timers = systemTimers } = options;
  const { prompts = createPromptRegistry([]), resources = createResourceRegistry([]) } = options;
  const limits: McpLimits = { ...mcpLimits, ...options.limits };
  const changes = createChangeHub();
  const sessions = createSessions({ secretBox, storage, clock, timers, log, ...limits });
  const ids = createStreamIds(secretBox);
  const streams = createStreamTable({
    limits,
    timers,
    ids,
    watchEnd(principal, session, onEnd) {
      const stopToken = options.watchToken?.(principal, onEnd);
      const stopSession = session === null
        ? undefined
        : sessions.watch(session, (later) => later === null ? onEnd() : undefined);
      return () => {
        stopToken?.();
        stopSession?.();
      };
    },
  });
  const tasks = createTasks({ storage, clock, timers, log, changes, limits });
  const enders = new Set<() => void>();
  const stopping = new AbortController();
  const hurry = (): void => stopping.abort(new DOMException("the server stops", "AbortError"));
  const runtime: Runtime = {
    ...options,
    features: {
      prompts: options.prompts !== undefined,
      resources: options.resources !== undefined,
      extensions: options.extensions ?? [],
    },
    prompts,
    resources,
    sessions,
    changes,
    scopeNotices: createScopeNotices(),
    enders,
    noteClient: options.noteClient ?? (() => undefined),
    tracer: options.tracer ?? noTracer,
    clock,
    timers,
    limits,
    streams,
    tasks,
    structuredResults: options.structuredResults ?? "auto",
    questions: createPendingQuestions({ storage, secretBox, clock, timers, log, ...limits }),
    callWatch: options.callWatch ?? noCallWatch,
    inFlight: createInFlight({ storage, clock, timers, log }),
    stopping: stopping.signal,
  };
  const sessionStreams = createSessionStreams(runtime, ids);
  const methods = createMethodTable(runtime, sessionStreams.follow);
  const observe = createRequestObserver(runtime, (name) => methods.has(name));
  const modern = createModernRevision(options.serverInfo);
  const stopListening = [
    tools.onChange(() => changes.publish({ kind: "tools" })),
    prompts.onChange(() => changes.publish({ kind: "prompts" })),
    resources.onChange(() => changes.publish({ kind: "resources" })),
  ];

  return {
    handle: createBodyHandler(runtime, modern, createMessageHandler(runtime, methods, observe)),
    handlePublic: createPublicHandshake(runtime, modern, observe),
    openStream: sessionStreams.open,
    endSession: sessionStreams.end,
    get openStreams() {
      return streams.size;
    },
    drain() {
      for (const end of [...enders]) end();
      sessionStreams.endAll();
    },
    hurry,
    async close() {
      hurry();
      for (const stop of stopListening) stop();
      streams.abandonAll();
      await tasks.close();
    },
  };
}
