/** MCP's stdio transport: one client, a JSON-RPC message a line, on the same protocol server as HTTP. */
import { echoedId, errorText, isInitialize, isRpcId, kindOfMessage, refusalCode, rpcErrorCode } from "./jsonrpc.ts";
import type { RpcId } from "./jsonrpc.ts";
import type { Principal } from "../lib/principal.ts";
import type { Exchange } from "./call.ts";
import { specProfile } from "./revision.ts";
import type { Log } from "../lib/log.ts";
import { atMost } from "../lib/time.ts";
import { isObject, parseJson } from "../lib/json.ts";
import type { McpServer } from "./mcp_server.ts";
import type { FrameReader } from "./streams.ts";
import { type Line, readLines } from "../lib/lines.ts";
import { crashText, unavailability } from "../lib/system_fault.ts";

/** The request that a notification cancels. */
function cancelledIdOf(message: unknown): RpcId | null {
  if (!isObject(message) || message["method"] !== "notifications/cancelled") return null;
  const id = isObject(message["params"]) ? message["params"]["requestId"] : null;
  return isRpcId(id) ? id : null;
}

export interface StdioOptions {
  readonly mcp: McpServer;
  readonly input: ReadableStream<Uint8Array>;
  readonly output: WritableStream<Uint8Array>;
  /** The user who starts the program. */
  readonly principal: Principal;
  readonly createRequestId: () => string;
  readonly log: Log;
  /** Ends the input. */
  readonly stop: AbortSignal;
  readonly maxLineBytes: number;
  /** Messages that are worked on at once; requests beyond are refused. */
  readonly maxInFlight?: number;
  /** How long calls may still take when the input has ended, or the server is stopped. */
  readonly finishTimeoutMs: number;
}

const maxMessagesInFlight = 64;

/** A message that is being worked on. */
interface Flight {
  readonly cancel: AbortController;
  landed: Promise<void>;
}

/** Serves until the input ends or `stop` aborts; what still runs then is finished, or ended, before it resolves. */
export async function serveStdio(options: StdioOptions): Promise<void> {
  const { mcp, principal, log, stop, maxLineBytes, maxInFlight = maxMessagesInFlight, finishTimeoutMs } = options;
  const encoder = new TextEncoder();
  const writer = options.output.getWriter();
  const outputGone = new AbortController();
  const whenGone = new Promise((resolve) => outputGone.signal.addEventListener("abort", resolve, { once: true }));
  const ended = AbortSignal.any([stop, outputGone.signal]);
  /** What the opening settled. */
  const session: { protocolVersion: string | null; id: string | null } = { protocolVersion: null, id: null };
  /** By their ids; notifications and responses by keys of their own. */
  const flights = new Map<RpcId | symbol, Flight>();
  const noticesEnd = new AbortController();
  let notices = Promise.resolve();

  const write = async (text: string): Promise<void> => {
    try {
      await writer.write(encoder.encode(`${text}\n`));
    } catch {
      outputGone.abort(); // the reader is gone
    }
  };

  /** Messages that come before a response: progress, log lines, questions to the client. */
  const pump = async (reader: FrameReader, cancelled: AbortSignal): Promise<void> => {
    const cancel = (): void => reader.cancel();
    cancelled.addEventListener("abort", cancel, { once: true });
    if (cancelled.aborted) cancel();
    for (let frame = await reader.next(idleMs); frame !== null; frame = await reader.next(idleMs)) {
      if (frame !== "idle" && frame.text !== "") await write(frame.text); // an empty one only primes an event stream
    }
    cancelled.removeEventListener("abort", cancel);
  };

  /** The exchange of one message. There are no headers: their values come from the handshake. */
  const exchangeUntil = (disconnected: AbortSignal): Exchange => ({
    requestId: options.createRequestId(),
    principal,
    profile: specProfile,
    acceptsStream: true,
    hasHeaders: false,
    canComeBack: false,
    disconnected,
    header(name) {
      if (name === "mcp-protocol-version") return session.protocolVersion;
      return name === "mcp-session-id" ? session.id : null;
    },
  });

  /** The legacy era's server notices, which HTTP clients fetch by GET: changes of lists and resources. */
  const openNotices = async (): Promise<FrameReader | null> => {
    if (session.id === null) return null;
    const answer = await mcp.openStream(exchangeUntil(noticesEnd.signal));
    return answer.kind === "stream" ? answer.reader : null;
  };

  const fly = async (message: unknown, flight: Flight): Promise<void> => {
    const disconnected = flight.cancel.signal;
    const answer = await mcp.handle(message, exchangeUntil(disconnected));
    if (answer.kind === "stream") return await pump(answer.reader, disconnected);
    const text = "body" in answer ? answer.body : null;
    let opened: FrameReader | null = null;
    if (isInitialize(message) && text !== null) {
      const { result } = JSON.parse(text) as { readonly result?: { readonly protocolVersion?: string } };
      session.protocolVersion = result?.protocolVersion ?? null;
      session.id = answer.kind === "json" ? answer.sessionId ?? null : null;
      opened = await openNotices(); // before the answer: the client is notified of every change after it
    }
    // MCP 2025-11-25, basic/utilities/cancellation: a request that was cancelled gets no answer.
    if (text !== null && !disconnected.aborted) await write(text);
    if (opened !== null) notices = pump(opened, noticesEnd.signal);
  };

  /** What to say where a message cannot be answered, as while the database is away; others are. */
  const refusalAfter = (error: unknown): readonly [code: number, words: string] => {
    const unavailable = unavailability(error);
    if (unavailable?.cause !== "storage_unavailable") log.write("error", "stdio_failed", { error: crashText(error) });
    return unavailable === null
      ? [rpcErrorCode.internalError, "Internal server error"]
      : [refusalCode.unavailable, unavailable.text];
  };

  const take = async (message: unknown): Promise<void> => {
    const cancelled = cancelledIdOf(message);
    if (cancelled !== null) {
      flights.get(cancelled)?.cancel.abort(new DOMException("The caller cancelled", "AbortError"));
    }
    const id = kindOfMessage(message) === "request" ? echoedId(message) : null;
    if (id !== null && flights.has(id)) {
      return await write(errorText(id, rpcErrorCode.invalidRequest, "Invalid Request: this id is in use"));
    }
    if (flights.size >= maxInFlight && id !== null) {
      return await write(errorText(id, refusalCode.rateLimited, `More than ${maxInFlight} requests at once`));
    }
    const flight: Flight = { cancel: new AbortController(), landed: Promise.resolve() };
    const key = id ?? Symbol();
    flights.set(key, flight);
    flight.landed = fly(message, flight).catch(async (error) => {
      const refusal = refusalAfter(error);
      if (id !== null && !flight.cancel.signal.aborted) await write(errorText(id, ...refusal));
    }).finally(() => void flights.delete(key));
    // What follows the opening is read under the version that it settles.
    if (isInitialize(message)) await flight.landed;
  };

  for await (const line of readLines(options.input, { maxLineBytes, stop: ended })) {
    const message = line.ok ? parseJson(line.text) : undefined;
    if (message === undefined) await write(refusalOf(line, maxLineBytes));
    else await take(message);
  }

  mcp.drain(); // streams that only end with their client; calls go on
  const landed = Promise.all(Array.from(flights.values(), (flight) => flight.landed));
  await atMost(finishTimeoutMs, Promise.race([landed, whenGone]), null);
  for (const { cancel } of flights.values()) cancel.abort(new DOMException("The transport has ended", "AbortError"));
  await atMost(abortTimeoutMs, landed, null);
  if (session.id !== null) await mcp.endSession(exchangeUntil(noticesEnd.signal)).catch(refusalAfter);
  noticesEnd.abort();
  await notices;
  await writer.close().catch(() => {});
  log.write("info", "stdio_ended", { by: stop.aborted ? "signal" : outputGone.signal.aborted ? "output" : "input" });
}

/** How long a quiet stream is waited for at a time; pipes need no sign of life in between. */
const idleMs = 60_000;

/** How long a call may take to notice that it was ended. */
const abortTimeoutMs = 1_000;

function refusalOf(line: Line, maxLineBytes: number): string {
  return !line.ok && line.refusal === "too_long"
    ? errorText(null, rpcErrorCode.invalidRequest, `A message must not be longer than ${maxLineBytes} bytes`)
    : errorText(null, rpcErrorCode.parseError, "Parse error");
}
