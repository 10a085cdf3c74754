/** The protocol server: takes one parsed body and says what to answer. It knows no HTTP beyond statuses. */
import { systemClock, systemTimers, type Timers } from "../lib/time.ts";
import type { Principal } from "../lib/principal.ts";
import { noTracer } from "../lib/tracer.ts";
import type { Runtime, ServerParts } from "./call.ts";
import { createBodyHandler, createPublicHandshake } from "./body_handler.ts";
import { createChangeHub, createScopeNotices } from "./notices.ts";
import { createTasks } from "./tasks.ts";
import { createInFlight, noCallWatch } from "./in_flight.ts";
import type { Storage } from "../storage/mod.ts";
import { type McpLimits, mcpLimits, type Services } from "./limits.ts";
import { createMessageHandler, createRequestObserver } from "./message_handler.ts";
import { createMethodTable } from "./methods.ts";
import { createPendingQuestions } from "./question.ts";
import { createPromptRegistry, createResourceRegistry, createResourceWatch } from "./resource.ts";
import { createModernRevision } from "./revision.ts";
import { createSessionStreams } from "./notice_streams.ts";
import { createSessions } from "./session.ts";
import { createStreamTable } from "./streams.ts";

type Choices = "prompts" | "resources" | "tracer" | "callWatch" | "noteClient" | "clock" | "structuredResults";

/** What a server offers, and what it depends on. */
export interface McpServerOptions extends ServerParts, Partial<Pick<Runtime, Choices>> {
  /** Extensions that this installation has around the protocol, such as those of its authorization server. */
  readonly extensions?: readonly string[];
  /** Keeps what changes in sessions, and tasks. */
  readonly storage: Storage;
  /** Calls back when the principal's token is revoked, which ends its streams, until the returned function is called. */
  readonly watchToken?: (principal: Principal, onRevoked: () => void) => () => void;
  readonly timers?: Timers | undefined;
  /** Limits other than {@link mcpLimits}. */
  readonly limits?: Partial<McpLimits> | undefined;
}

/** The protocol, for a transport: HTTP and stdio share one. */
export type McpServer = ReturnType<typeof createMcpServer>;

/**
 * Makes the server. It opens nothing and begins no timer before the first request; `close` ends what is open by then.
 */
export function createMcpServer(options: McpServerOptions) {
  const { tools, log, secretBox, storage, watchToken, clock = systemClock, timers = systemTimers } = options;
  const { prompts = createPromptRegistry([]), resources = createResourceRegistry([]) } = options;
  const limits: McpLimits = { ...mcpLimits, ...options.limits };
  const services: Services = { secretBox, storage, clock, timers, log, limits };
  const changes = createChangeHub();
  const sessions = createSessions(services);
  const streams = createStreamTable({ ...services, sessions, watchToken });
  const tasks = createTasks(services, changes);
  const enders = new Set<() => void>();
  const stopping = new AbortController();
  const hurry = (): void => stopping.abort(new DOMException("the server stops", "AbortError"));
  const runtime: Runtime = {
    noteClient: () => undefined,
    tracer: noTracer,
    structuredResults: "auto",
    callWatch: noCallWatch,
    ...options,
    ...services,
    features: {
      prompts: options.prompts !== undefined,
      resources: options.resources !== undefined,
      extensions: options.extensions ?? [],
    },
    prompts,
    resources,
    watchResources: createResourceWatch(resources, services),
    sessions,
    changes,
    scopeNotices: createScopeNotices(),
    enders,
    streams,
    tasks,
    questions: createPendingQuestions(services),
    inFlight: createInFlight(services),
    stopping: stopping.signal,
  };
  const sessionStreams = createSessionStreams(runtime);
  const methods = createMethodTable(runtime, sessionStreams.follow);
  const observe = createRequestObserver(runtime, (name) => methods.has(name));
  const modern = createModernRevision(options.serverInfo);
  const stopListening = [
    tools.onChange(() => changes.publish({ kind: "tools" })),
    prompts.onChange(() => changes.publish({ kind: "prompts" })),
    resources.onChange(() => changes.publish({ kind: "resources" })),
  ];

  return {
    /** Answers one parsed body. Rejects only when the storage is lost. */
    handle: createBodyHandler(runtime, modern, createMessageHandler(runtime, methods, observe)),
    /** Answers one parsed body of a caller without a token: the public part of the handshake. */
    handlePublic: createPublicHandshake(runtime, modern, observe),
    /** Answers HTTP's GET: a stream of notices for a legacy session. */
    openStream: sessionStreams.open,
    /** Answers HTTP's DELETE: the end of a legacy session. */
    endSession: sessionStreams.end,
    get openStreams() {
      return streams.size;
    },
    /** Ends the streams that last: calls that run go on. */
    drain() {
      for (const end of [...enders]) end();
    },
    /** Asks the calls that run to answer now with what they have. */
    hurry,
    /** Gives up everything that is still open; resolves when the tasks that ran are stored as cancelled. */
    async close() {
      hurry();
      for (const stop of stopListening) stop();
      streams.abandonAll();
      await tasks.close();
    },
  };
}
