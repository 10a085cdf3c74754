/**
 * Resumes streams at another instance than the one that holds them. The holder keeps them in memory and writes nothing.
 * Only when their client comes back elsewhere is it asked, through the storage, to send the rest through a pipe.
 */
import * as z from "zod";
import { equalInConstantTime, randomText } from "../lib/random_secret.ts";
import type { SecretBox } from "../lib/secrets.ts";
import { parseStored } from "../lib/system_fault.ts";
import { type Clock, systemTimers, type Timers } from "../lib/time.ts";
import type { Log } from "../lib/log.ts";
import { watchEntries } from "../lib/stored_entries.ts";
import type { Storage, StorageKey } from "../storage/mod.ts";
import { parseJson } from "../lib/json.ts";
import type { Principal } from "../lib/principal.ts";
import type { RpcId } from "./jsonrpc.ts";
import type { FrameReader, MessageStream } from "./message_stream.ts";
import type { McpLimits } from "./limits.ts";
import type { Session } from "./session.ts";

// MACed ids, each for one session: any instance can reject a forged id without touching the storage.

interface IssuedIds {
  /** A new id for a session. */
  issue(owner: string): string;
  /** Whether the id was issued for this session, by any instance. */
  isIssued(id: string, owner: string): boolean;
}

const randomLength = 12;
const markLength = 16;
const issuedIdLength: number = randomLength + markLength;

/** Ids of one purpose; those of another are none here. */
export function createIssuedIds(secretBox: Pick<SecretBox, "authenticate">, purpose: string): IssuedIds {
  const markOf = (random: string, owner: string): string =>
    secretBox.authenticate(purpose, `${random} ${owner}`).slice(0, markLength);
  return {
    issue(owner) {
      const random = randomText(randomLength * 3 / 4);
      return random + markOf(random, owner);
    },
    isIssued(id, owner) {
      return equalInConstantTime(id.slice(randomLength), markOf(id.slice(0, randomLength), owner));
    },
  };
}

// * Texts from one instance to another, through the storage: entries below one key, in order, each text in as many pieces
// as it needs. The entry at the key itself says how the sender is, and is what the receiver watches.

/** So many characters have less than 524,288 bytes as JSON, whatever they are. */
const pieceCharacters = 80_000;
const readAtOnce = 10;

const pieceShape = z.lazy(() => z.tuple([z.string(), z.boolean()]));
const headShape = z.lazy(() => z.object({ ended: z.boolean() }));

/** Names sort as the numbers do. */
function pieceName(number: number): string {
  return String(number).padStart(9, "0");
}

interface PipeOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly key: StorageKey;
  /** How long what was sent waits for its receiver, from the last sign of the sender on. */
  readonly lifetimeMs: number;
}

/** The sender's end. Each call waits for the one before it. */
interface PipeSender {
  send(text: string): Promise<void>;
  /** Says that the sender is there. */
  beat(): Promise<void>;
  end(): Promise<void>;
}

export function createPipeSender({ storage, clock, key, lifetimeMs }: PipeOptions): PipeSender {
  let pieces = 0;
  const commit = async (piece: string | null, hasMore: boolean, ended: boolean): Promise<void> => {
    const expiresAt = clock() + lifetimeMs;
    const head = { key, value: { ended }, expiresAt };
    if (piece === null) return void await storage.commit({ puts: [head] });
    const at: StorageKey = [...key, pieceName(pieces)];
    await storage.commit({ puts: [{ key: at, value: [piece, hasMore], expiresAt }, head] });
    pieces += 1;
  };
  return {
    async send(text) {
      for (let from = 0; from === 0 || from < text.length; from += pieceCharacters) {
        const to = from + pieceCharacters;
        await commit(text.slice(from, to), to < text.length, false);
      }
    },
    beat: () => commit(null, false, false),
    end: () => commit(null, false, true),
  };
}

/** What the receiver's end calls, one after the other. */
interface PipeReceiver {
  readonly onText: (text: string) => void;
  /** The sender is there and has not ended. */
  readonly onSign?: () => void;
  readonly onEnd?: () => void;
}

/**
 * Receives until the end, until a piece is missing, or until the returned function is called. What was received is
 * deleted.
 */
export function receiveFromPipe(
  { storage, key, log, timers }: Pick<PipeOptions, "storage" | "key"> & {
    readonly log: Log;
    readonly timers?: Timers | undefined;
  },
  to: PipeReceiver,
): () => void {
  let unfinished = "";
  let last: StorageKey | undefined;
  let received = 0;
  let stopped = false;
  const watch = watchEntries(storage, [key], async () => {
    const head = await storage.get(key);
    if (stopped || head === null) return;
    const { ended } = parseStored(headShape, head.value, "pipe");
    if (!ended) to.onSign?.();
    for (;;) {
      const found = await storage.list(key, { limit: readAtOnce, ...(last === undefined ? {} : { after: last }) });
      for (const { key: at, value } of found) {
        if (stopped) return;
        if (at.at(-1) !== pieceName(received)) { // the one before has expired, by a clock that jumped
          stop();
          return to.onEnd?.();
        }
        received += 1;
        const [piece, hasMore] = parseStored(pieceShape, value, "pipe");
        last = at;
        unfinished += piece;
        if (hasMore) continue;
        to.onText(unfinished);
        unfinished = "";
      }
      if (found.length > 0) await storage.commit({ deletes: found.map((each) => each.key) });
      if (found.length < readAtOnce) break;
    }
    if (stopped || !ended) return;
    stop();
    to.onEnd?.();
    await storage.commit({ deletes: [key] });
  }, { log, timers });
  const stop = (): void => {
    stopped = true;
    watch.stop();
  };
  watch.look();
  return stop;
}

/** What a stream carries: a call's messages up to its response, or a session's notices, which any instance can send. */
export type StreamContent = "answer" | "notices";

/** Where a client left off. */
export interface StreamPosition {
  readonly resumeId: string;
  /** The number of the last frame that it has. */
  readonly after: number;
}

/** What instances know of a stream that they offer each other. */
interface OfferedStream {
  readonly content: StreamContent;
  /** Those of the token that it was opened with. A token that has fewer, of the same session or not, gets none of it. */
  readonly scopes: Principal["scopes"];
}

/** What comes of asking. */
interface ResumeRequest {
  /** What the other instances say; known in time. */
  readonly outcome: Promise<ResumeOutcome>;
  /** The client is gone, or has all. */
  stop(): void;
}

/**
 * An instance sends what follows; has nothing left of it; or none says anything, as when the one that had the stream was
 * killed, or came to an end longer ago than streams are kept. `failed`: no instance could be asked.
 */
type ResumeOutcome = "resumed" | "over" | "silent" | "failed";

interface FrameTaker {
  readonly onFrame: (id: string, text: string) => void;
  readonly onEnd: () => void;
}

/** Passes streams on between instances. */
export interface StreamResumption {
  /** An id for a stream of the session; that of an answer says which request it answers. */
  issueId(session: Session, content: StreamContent, requestId?: RpcId): string;
  /** The request whose answer the stream with this id has; `null` where the id does not say, or is of this instance. */
  requestElsewhere(resumeId: string): RpcId | null;
  /** What the stream with this id carries, if it is one of this session's, on any instance. */
  contentOf(session: Session, resumeId: string): StreamContent | null;
  /** Lets other instances take the stream up, until the returned function is called. */
  offer(stream: MessageStream, resumeId: string, offered: OfferedStream): () => void;
  /** Asks the instance that has the stream for what follows the position, on behalf of a principal. */
  ask(position: StreamPosition, principal: Principal, to: FrameTaker): ResumeRequest;
}

interface StreamResumptionOptions {
  readonly storage: Storage;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly timers?: Timers | undefined;
  readonly log: Log;
  readonly limits: Pick<McpLimits, "resumeWindowMs" | "resumeAnswerMs">;
  /** The longest that a call, and so its stream, lasts. */
  readonly toolTimeoutMs: number;
}

const beatMs = 5_000;
/** The instance and the request are part of each event id of an answer; where they are longer, they are left out. */
const maxToldCharacters = 80;
const toldShape = z.lazy(() => z.tuple([z.string(), z.union([z.string(), z.number()])]));
const silenceMs = 30_000; // an instance that says nothing for so long is dead

const requestShape = z.lazy(() => z.object({ pipe: z.string(), after: z.number(), scopes: z.array(z.string()) }));

export function createStreamResumption(options: StreamResumptionOptions): StreamResumption {
  const { storage, secretBox, clock, timers = systemTimers, log, limits, toolTimeoutMs } = options;
  const ids = {
    answer: createIssuedIds(secretBox, "mcp-answer-stream"),
    notices: createIssuedIds(secretBox, "mcp-notice-stream"),
  };
  const instance = randomText(6);
  const requestKey = (resumeId: string): StorageKey => ["mcp_resume", resumeId];
  const pipeKey = (pipe: string): StorageKey => ["mcp_relay", pipe];

  const sendOn = async (reader: FrameReader, pipe: string, isOver: boolean): Promise<void> => {
    const sender = createPipeSender({ storage, clock, key: pipeKey(pipe), lifetimeMs: limits.resumeWindowMs });
    try {
      if (!isOver) await sender.beat();
      for (let frame = await reader.next(beatMs); frame !== null; frame = await reader.next(beatMs)) {
        await (frame === "idle" ? sender.beat() : sender.send(`${frame.id} ${frame.text}`));
      }
      await sender.end();
    } catch (error) {
      reader.cancel(); // the silence tells the other instance; the client comes back once more
      log.write("error", "stream_relay_failed", { error: String(error) });
    }
  };
  /** Tells the asking instance that it gets nothing: silence would mean that the answer is lost. */
  const refuse = (pipe: string): Promise<void> =>
    createPipeSender({ storage, clock, key: pipeKey(pipe), lifetimeMs: limits.resumeWindowMs }).end();
  const withdraw = async (key: StorageKey, pipe: string): Promise<void> => {
    const stored = await storage.get(key);
    if (stored === null || parseStored(requestShape, stored.value, "mcp_resume").pipe !== pipe) return; // the client is elsewhere again
    await storage.commit({ checks: [{ key, version: stored.version }], deletes: [key] });
  };

  return {
    issueId({ key }, content, requestId) {
      const text = requestId === undefined ? "" : JSON.stringify([instance, requestId]);
      const told = text.length > maxToldCharacters ? "" : Buffer.from(text).toString("base64url");
      return ids[content].issue(key) + told;
    },
    requestElsewhere(resumeId) {
      const text = Buffer.from(resumeId.slice(issuedIdLength), "base64url").toString();
      const told = toldShape.safeParse(parseJson(text)).data;
      return told === undefined || told[0] === instance ? null : told[1];
    },
    contentOf({ key }, resumeId) {
      if (ids.answer.isIssued(resumeId.slice(0, issuedIdLength), key)) return "answer";
      return ids.notices.isIssued(resumeId, key) ? "notices" : null;
    },
    offer(stream, resumeId, { content, scopes }) {
      const key = requestKey(resumeId);
      let current: { readonly pipe: string; readonly reader: FrameReader } | null = null;
      return watchEntries(storage, [key], async () => {
        const stored = await storage.get(key);
        const request = stored === null ? null : parseStored(requestShape, stored.value, "mcp_resume");
        const asked = request !== null && scopes.isSubsetOf(new Set(request.scopes)) ? request : null;
        if (request !== null && asked === null) await refuse(request.pipe);
        if (asked?.pipe === current?.pipe) return;
        current?.reader.cancel();
        current = null;
        if (asked === null) return;
        if (content === "notices") stream.end(); // from here on, the other instance's own stream tells
        const isOver = stream.isOverAfter(asked.after);
        current = { pipe: asked.pipe, reader: stream.attach(asked.after) };
        void sendOn(current.reader, asked.pipe, isOver);
      }, { log, timers }).stop;
    },
    ask({ resumeId, after }, principal, { onFrame, onEnd }) {
      const key = requestKey(resumeId);
      const pipe = randomText(12);
      const { promise: outcome, resolve } = Promise.withResolvers<ResumeOutcome>();
      let stopped = false;
      const stop = (why: ResumeOutcome = "over"): void => {
        if (stopped) return;
        stopped = true;
        stopTimer();
        stopReceiving();
        resolve(why);
        // Only what is stored can be withdrawn; else the owner would go on sending.
        asked.then(() => withdraw(key, pipe), () => {}).catch((error) => {
          log.write("warn", "stream_request_left", { error: String(error) });
        });
      };
      const end = (): void => {
        stop();
        onEnd();
      };
      let stopTimer = timers.after(limits.resumeAnswerMs, () => stop("silent"));
      const onSign = (): void => {
        stopTimer();
        stopTimer = timers.after(silenceMs, end);
        resolve("resumed");
      };
      const stopReceiving = receiveFromPipe({ storage, key: pipeKey(pipe), log, timers }, {
        onSign,
        onText(text) {
          onSign();
          const space = text.indexOf(" ");
          onFrame(text.slice(0, space), text.slice(space + 1));
        },
        onEnd: end,
      });
      const expiresAt = clock() + toolTimeoutMs + limits.resumeWindowMs;
      const value = { pipe, after, scopes: [...principal.scopes] };
      const asked = storage.commit({ puts: [{ key, value, expiresAt }] });
      asked.catch((error) => {
        log.write("error", "stream_request_failed", { error: String(error) });
        stop("failed");
      });
      return { outcome, stop };
    },
  };
}
