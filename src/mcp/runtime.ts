/** What a server is made of and every call may use, legacy sessions included. */
import { randomText, type SecretBox, sha256Of } from "../lib/secrets.ts";
import { watchEntries } from "../lib/stored_entries.ts";
import { type LoggingLevel, logLevels, type RpcId } from "./jsonrpc.ts";
import type { Storage, StorageKey } from "../storage/mod.ts";
import { callerKey, type Principal } from "../lib/principal.ts";
import { type McpLimits, mcpLimits, type Services } from "./limits.ts";
import type { Admission } from "../lib/turns.ts";
import type { Log } from "../lib/log.ts";
import { type Clock, systemClock, systemTimers, type Timers } from "../lib/time.ts";
import { noTracer, type Tracer } from "../lib/tracer.ts";
import { legacyRevisions, type Profile, type Revision, type ServerInfo, type Session } from "./revision.ts";
import { type ClientAbility, type ClientCapabilities, createPendingQuestions } from "./question.ts";
import type { ToolRegistry } from "./registry.ts";
import { createPromptRegistry, createResourceRegistry, createResourceWatch } from "./resource.ts";
import { createStreamTable } from "./streams.ts";
import { createTasks, type TaskChange } from "./tasks.ts";
import * as z from "zod";
import { parseStored } from "../lib/system_fault.ts";
import { boundedMap } from "../lib/bounded_map.ts";

// The audit record: who called what, with which outcome, and for how long. No contents, no secrets.

/** How a call ended. */
type AuditOutcome =
  | "ok"
  | "tool_error"
  | "protocol_error"
  | "insufficient_scope"
  | "rate_limited"
  /** An administrator has stopped calls, or this one. */
  | "stopped"
  | "cancelled"
  | "unavailable"
  | "internal_error";

/** One record per JSON-RPC request. */
export interface AuditEntry {
  /** When the call ended, in milliseconds since the epoch. */
  readonly time: number;
  readonly requestId: string;
  /** The user's id; `null` for the public handshake. */
  readonly subject: string | null;
  readonly clientId: string | null;
  /** The grant of the token; `null` for the public handshake. */
  readonly grantId: string | null;
  readonly method: string;
  /** The tool's name, when a known tool was called. */
  readonly tool: string | null;
  readonly outcome: AuditOutcome;
  /** The error's code: a JSON-RPC number or the tool's own snake_case reason. */
  readonly code: string | null;
  readonly durationMs: number;
  /** The trace that the caller says the request belongs to. */
  readonly traceId?: string | undefined;
  /** Names the change that the call made, where it can be undone. */
  readonly change?: string | undefined;
}

/** Takes one record per request, with the request's parameters as they came, a tool's arguments by its own names. */
export type TakeAudit = (entry: AuditEntry, params?: unknown) => void;

/** Who gets structured content: `auto` gives it to clients that ask for it, and to ServiceNow's. */
export type StructuredResults = "auto" | "always";

/** What a server offers, and what it depends on. */
export interface McpServerOptions {
  readonly serverInfo: ServerInfo;
  /** A few sentences for the model, by what the principal may do; `null` is a caller without a token. */
  readonly instructions: (principal: Principal | null) => string;
  readonly tools: ToolRegistry;
  readonly prompts?: ReturnType<typeof createPromptRegistry>;
  readonly resources?: ReturnType<typeof createResourceRegistry>;
  /** Extensions (SEP-2133) beside those of the protocol layer itself, by identifier. */
  readonly extensions?: readonly string[];
  readonly secretBox: SecretBox;
  /** Keeps what changes in sessions, and tasks. */
  readonly storage: Storage;
  readonly log: Log;
  readonly tracer?: Tracer;
  /** Receives one record per request. */
  readonly audit: TakeAudit;
  /** Takes a call, or another message that causes a write, from the principal's rate limit. */
  readonly admit: (principal: Principal) => Admission | Promise<Admission>;
  readonly callWatch?: CallWatch;
  /** Takes note of a client's name and returns the profile to use from here on. */
  readonly noteClient?: (principal: Principal, clientName: string | null, readsStreams: boolean) => Profile | undefined;
  /** Calls back when the principal's token is revoked, which ends its streams, until the returned function is called. */
  readonly watchToken?: (principal: Principal, onRevoked: () => void) => () => void;
  /** The same when the person may not be here any more, which ends their tasks, whatever becomes of the token. */
  readonly watchPerson?: (principal: Principal, onOut: () => void) => () => void;
  readonly structuredResults?: StructuredResults;
  /** A call that takes longer is aborted and answered as failed. */
  readonly toolTimeoutMs: number;
  readonly clock?: Clock;
  readonly timers?: Timers | undefined;
  /** Limits other than {@link mcpLimits}. */
  readonly limits?: Partial<McpLimits> | undefined;
}

export type Runtime = ReturnType<typeof createRuntime>;

/** Opens nothing, and begins no timer. */
export function createRuntime(options: McpServerOptions) {
  const { log, secretBox, storage, clock = systemClock, timers = systemTimers } = options;
  const { prompts = createPromptRegistry([]), resources = createResourceRegistry([]) } = options;
  const { tracer = noTracer, callWatch = noCallWatch, structuredResults = "auto" } = options;
  const limits: McpLimits = { ...mcpLimits, ...options.limits };
  const services: Services = { secretBox, storage, clock, timers, log, limits };
  const changes = createChangeHub();
  const sessions = createSessions(services);
  return {
    ...options,
    ...services,
    ...{ prompts, resources, tracer, callWatch, structuredResults, changes, sessions },
    /** What this server offers, and can send notices about. */
    features: {
      prompts: options.prompts !== undefined,
      resources: options.resources !== undefined,
      extensions: options.extensions ?? [],
    },
    watchResources: createResourceWatch(resources, services),
    scopeNotices: createScopeNotices(),
    /** The ways to end the open subscriptions well, for shutdown. */
    enders: new Set<() => void>(),
    streams: createStreamTable({ ...services, watchSession: sessions.watch, watchToken: options.watchToken }),
    tasks: createTasks(services, changes.publish),
    questions: createPendingQuestions(services),
    inFlight: createInFlight(services),
    /** Aborted when the server is about to give up the calls that still run. */
    stopping: new AbortController(),
  };
}

// Notices for this process's open streams: changed lists and tasks, and lists that grow with a token's scopes.

type OfferChange = TaskChange | { readonly kind: "tools" | "prompts" | "resources" };

function createChangeHub() {
  const listeners = new Set<(change: OfferChange) => void>();
  return {
    publish(change: OfferChange) {
      for (const listener of [...listeners]) listener(change);
    },
    /** Calls `listener` for every change until the returned function is called. */
    subscribe(listener: (change: OfferChange) => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

interface Listener {
  known: Principal["scopes"];
  readonly tell: () => void;
}

/**
 * Lists show what a token may use. Once a client comes with a token of more scopes, after step-up, the streams that it
 * opened with an earlier one are told that its lists changed.
 */
function createScopeNotices() {
  const clients = new Map<string, Set<Listener>>();

  const note = (principal: Principal): void => {
    if (clients.size === 0) return;
    const { scopes } = principal;
    for (const listener of [...clients.get(callerKey(principal)) ?? []]) {
      // A person's scripts are one client: a token of other scopes, not more, is no step-up.
      if (listener.known.size >= scopes.size || !listener.known.isSubsetOf(scopes)) continue;
      listener.known = scopes;
      listener.tell();
    }
  };
  return {
    /** Looks at the scopes of a request. */
    note,
    /** Calls `tell` when the principal comes with these scopes and more, until the returned function is called. */
    listen(principal: Principal, tell: () => void) {
      note(principal);
      const key = callerKey(principal);
      const listeners = clients.getOrInsertComputed(key, () => new Set());
      const listener: Listener = { known: principal.scopes, tell };
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) clients.delete(key);
      };
    },
  };
}

// Legacy calls that still run, so that `notifications/cancelled` finds them, on whichever instance it arrives.

/**
 * A cancellation waits so long for a call that is not watched yet, or an instance that has lost the storage; two
 * minutes of it are for clocks that are apart.
 */
const cancellationLifetimeMs = 180_000;

function createInFlight({ storage, clock, timers, log }: Services) {
  const calls = new Map<string, Set<() => void>>();
  const keyOf = (owner: string, id: RpcId): string => `${typeof id === "number" ? "n" : "s"}${id} ${owner}`;
  const storedAt = (owner: string, id: RpcId): StorageKey => ["mcp_cancel", sha256Of(keyOf(owner, id)).toHex()];
  const cancel = (owner: string, id: RpcId): boolean => {
    const found = calls.get(keyOf(owner, id));
    if (found?.size !== 1) return false;
    for (const cancelOnly of found) cancelOnly();
    return true;
  };
  return {
    /** Enters a call and returns the way out. */
    enter(owner: string, id: RpcId, cancel: () => void) {
      const key = keyOf(owner, id);
      const entered = calls.getOrInsertComputed(key, () => new Set()).add(cancel);
      return () => {
        entered.delete(cancel);
        if (entered.size === 0 && calls.get(key) === entered) calls.delete(key);
      };
    },
    /** Cancels the one call with this id. Where an owner has two of them the notification could mean either: neither. */
    cancel,
    /** The server gives up the calls that still run. */
    cancelAll() {
      for (const entered of calls.values()) for (const cancelOnly of [...entered]) cancelOnly();
    },
    /** Whether one with this id runs here, or several do. */
    has: (owner: string, id: RpcId) => calls.has(keyOf(owner, id)),
    /** Watches for the session's cancellation at other instances, until the returned function is called. */
    watch(owner: string, id: RpcId) {
      const key = storedAt(owner, id);
      const { look, stop } = watchEntries(storage, [key], async () => {
        if (await storage.get(key) !== null) cancel(owner, id);
      }, { log, timers });
      look();
      return stop;
    },
    /** Passes a session's cancellation on to the other instances. */
    async tell(owner: string, id: RpcId) {
      const expiresAt = clock() + cancellationLifetimeMs;
      await storage.commit({ puts: [{ key: storedAt(owner, id), value: true, expiresAt }] });
    },
  };
}

/** What is watched of a call. */
export interface WatchedCall {
  readonly request: { readonly method: string; readonly params?: unknown };
  readonly principal: Principal;
  readonly tool: string | null;
  /** The tool's arguments by its own names, once they were understood. */
  readonly input?: unknown;
}

/** What sees calls while they run, and may stop them: the console's live calls. */
export interface CallWatch {
  /** Why calls of this principal are stopped, in words for the model; `null` where they are not. */
  refusal(principal: Principal): string | null;
  /** Enters a call that does not answer at once, and gives the way out. */
  enter(call: WatchedCall, cancel: () => void): () => void;
}

/** Watches nothing. */
const noCallWatch: CallWatch = { refusal: () => null, enter: () => () => {} };

// Legacy sessions. What a session is lies sealed in its id, bound to the principal: it survives restarts and moves
// between instances. Only what changes is stored: that it ended, its log level, its subscriptions.

const sessionPurpose = "mcp-session";
/** Addresses of all that a session watches, together: they lie in one stored value. */
const maxSubscriptionCharacters = 200_000;
/** Key, version, abilities, subject, client and expiry. Without names, since clients send the id with every request. */
const sealedShape = z.lazy(() => z.tuple([z.string(), z.string(), z.string(), z.string(), z.string(), z.number()]));
const recordShape = z.lazy(() =>
  z.object({ ended: z.boolean(), logLevel: z.enum(logLevels).nullable(), subscriptions: z.array(z.string()) })
);

const unchanged: z.infer<typeof recordShape> = { ended: false, logLevel: null, subscriptions: [] };

interface OpenSession extends Session {
  readonly subject: string;
  readonly clientId: string;
  readonly ended: boolean;
  /** The storage's change count when this was last true. */
  checkedAt: number;
}

function sessionKey({ key }: Session): StorageKey {
  return ["mcp_session", key];
}

function createSessions({ secretBox, storage, clock, timers, log, limits }: Services) {
  const cache = boundedMap<string, OpenSession>(limits.maxCachedSessions);
  const capabilitySets = new Map<string, ClientCapabilities>();

  /** Opens an id. Ten thousand sessions of one principal share its strings, and the sets of what they declare. */
  const unseal = async (id: string, { subject, clientId }: Principal): Promise<OpenSession | null> => {
    const text = await secretBox.open(sessionPurpose, id, "");
    if (text === null) return null;
    const [key, version, abilities, ownSubject, ownClientId, expiresAt] = sealedShape.parse(JSON.parse(text));
    const revision = legacyRevisions.get(version);
    if (revision === undefined || ownSubject !== subject || ownClientId !== clientId) return null;
    const capabilities = shared(abilities);
    return { key, subject, clientId, expiresAt, revision, capabilities, ...unchanged, checkedAt: -1 };
  };
  const openFirst = async (id: string, principal: Principal): Promise<OpenSession | null> => {
    const opened = await unseal(id, principal);
    const known = cache.get(id); // by another request meanwhile
    if (known !== undefined) return known;
    if (opened !== null) cache.set(id, opened);
    return opened;
  };
  const shared = (abilities: string): ClientCapabilities =>
    capabilitySets.getOrInsertComputed(
      abilities,
      () => new Set(abilities.split(" ").filter((ability) => ability !== "") as ClientAbility[]),
    );
  const take = (session: OpenSession, record: z.infer<typeof recordShape>): void => {
    // the answer of a commit may come after that of a later one, so it is not checked
    Object.assign(session, record, { checkedAt: -1 });
  };
  const refresh = async (session: OpenSession, count: number): Promise<Session | null> => {
    const stored = await storage.get(sessionKey(session));
    // By a clock that has jumped meanwhile, its end may be stored and have expired, as it then has itself.
    if (session.expiresAt <= clock()) return null;
    if (stored !== null) take(session, parseStored(recordShape, stored.value, "mcp_session"));
    session.checkedAt = count;
    return session.ended ? null : session;
  };
  /**
   * Other instances, or other requests of the client, may change the session at the same moment: each change is made to
   * what is stored, and is tried until it is: a client may send a hundred at once, more than `changeEntry` tries.
   */
  const change = async (
    session: Session,
    apply: (stored: z.infer<typeof recordShape>) => z.infer<typeof recordShape>,
  ): Promise<void> => {
    const opened = session as OpenSession;
    const key = sessionKey(session);
    for (;;) {
      const stored = await storage.get(key);
      const before = stored === null ? unchanged : parseStored(recordShape, stored.value, "mcp_session");
      const value = apply(before);
      if (value === before) return take(opened, value);
      const checks = [{ key, version: stored?.version ?? null }];
      if (!await storage.commit({ checks, puts: [{ key, value, expiresAt: opened.expiresAt }] })) continue;
      return take(opened, value);
    }
  };

  return {
    /** Begins a session and gives the id for the client. */
    begin({ subject, clientId }: Principal, { version }: Revision, capabilities: ClientCapabilities) {
      const sealed: z.infer<typeof sealedShape> = [
        randomText(12),
        version,
        [...capabilities].sort().join(" "),
        subject,
        clientId,
        clock() + limits.sessionLifetimeMs,
      ];
      return secretBox.seal(sessionPurpose, JSON.stringify(sealed), "");
    },
    /** The session with this id, if it is this principal's and has not ended. */
    async find(id: string, principal: Principal): Promise<Session | null> {
      const session = cache.get(id) ?? await openFirst(id, principal);
      if (session === null) return null;
      if (session.subject !== principal.subject || session.clientId !== principal.clientId) return null;
      if (session.expiresAt <= clock()) return null;
      const count = await storage.changeCount();
      if (session.checkedAt !== count) return await refresh(session, count);
      return session.ended ? null : session;
    },
    end: (session: Session) => change(session, (stored) => ({ ...stored, ended: true })),
    /** Reports changes to the session, by any instance; `null` is its end. */
    watch(session: Session, onChange: (session: Session | null) => void) {
      const opened = session as OpenSession;
      const look = async (): Promise<void> => onChange(await refresh(opened, opened.checkedAt));
      return watchEntries(storage, [sessionKey(session)], look, { log, timers }).stop;
    },
    setLogLevel: (session: Session, logLevel: LoggingLevel) => change(session, (stored) => ({ ...stored, logLevel })),
    /**
     * `false`, and no change, when the session has too many. `isSame` says which other addresses mean the same resource:
     * the last spelling is kept.
     */
    async setSubscription(session: Session, uri: string, wanted: boolean, isSame: (uri: string) => boolean) {
      let fits = true;
      await change(session, (stored) => {
        const others = stored.subscriptions.filter((each) => !isSame(each));
        if (!wanted) return { ...stored, subscriptions: others };
        const subscriptions = [...others, uri];
        fits = subscriptions.length <= limits.maxSubscriptions &&
          JSON.stringify(subscriptions).length <= maxSubscriptionCharacters;
        return fits ? { ...stored, subscriptions } : stored;
      });
      return fits;
    },
  };
}
