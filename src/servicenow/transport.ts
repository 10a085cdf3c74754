/** One request to the instance: no redirect followed, no body without a bound, no wait without an end. */
import { readBounded } from "../lib/bounded_body.ts";
import { declaredLength } from "../lib/request_text.ts";
import type { Clock } from "../lib/clock.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { ServicenowFailure } from "./failure.ts";
import { instanceUrl, type ServicenowInstance } from "./instance.ts";

/** The call signature of the platform's `fetch`. */
export type Fetch = typeof globalThis.fetch;

/** A request to the instance. */
export interface UpstreamRequest {
  readonly method: "GET" | "POST" | "PATCH";
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: { readonly type: string; readonly content: string | Uint8Array<ArrayBuffer> };
  /** What the answer should be: JSON, or a file that is handed on as it arrives. */
  readonly accept: "json" | "stream";
  readonly maxBytes: number;
  /** A status that this one endpoint uses for what others answer with 404. */
  readonly notFoundStatus?: number;
}

/** A whole answer of the instance, success or not. */
export interface UpstreamReply {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The content of a success that was asked for as a stream, instead of `bytes`. */
  readonly file?: ArrivingFile;
}

/** A file on its way. It has to be read to its end, or cancelled. */
interface ArrivingFile {
  /** Throws {@link CutFile} where it does not arrive whole. */
  readonly pieces: AsyncIterable<Uint8Array>;
  cancel(): Promise<void>;
}

/** Ends a write of a file that did not arrive whole. */
export class CutFile extends Error {
  readonly failure: ServicenowFailure;

  constructor(failure: ServicenowFailure) {
    super(failure.reason);
    this.failure = failure;
  }
}

/** Sends one request, once. */
export type Transport = (
  request: UpstreamRequest,
  options: { readonly accessToken: string | null; readonly signal: AbortSignal },
) => Promise<Result<UpstreamReply, ServicenowFailure>>;

/** One request, to the end of its answer. */
const requestTimeoutMs = 10_000;

export function createTransport(
  { instance, fetch, fetchOnce, requestMs = requestTimeoutMs }: {
    readonly instance: ServicenowInstance;
    readonly fetch: Fetch;
    /** For everything but GET: never repeats a request by itself. */
    readonly fetchOnce: Fetch;
    readonly requestMs?: number;
  },
): Transport {
  return async (request, { accessToken, signal }) => {
    if (signal.aborted) return failure({ reason: "cancelled" });
    const deadline = AbortSignal.timeout(requestMs);
    let answered = false;
    try {
      const response = await (request.method === "GET" ? fetch : fetchOnce)(
        instanceUrl(instance, request.path, request.query),
        {
          method: request.method,
          redirect: "manual", // a redirect would carry the token to another host
          signal: request.accept === "stream" ? signal : AbortSignal.any([signal, deadline]),
          headers: headersOf(request, accessToken),
          ...(request.body === undefined ? {} : { body: request.body.content }),
        },
      );
      answered = true;
      if (isPage(response, request)) {
        await response.body?.cancel();
        return unavailable(response.status >= 500 ? "server_error" : "not_an_api", request);
      }
      if (request.accept === "stream" && response.ok) {
        const file = arrivingFile(response, request.maxBytes);
        return success({ status: response.status, headers: response.headers, bytes: new Uint8Array(0), file });
      }
      const bytes = await readBounded(response, request.maxBytes);
      if (bytes === null) return failure({ reason: "too_large", limitBytes: request.maxBytes });
      return success({ status: response.status, headers: response.headers, bytes });
    } catch {
      // fetch tells causes apart by prose only, and the prose holds addresses
      if (signal.aborted) return failure({ reason: "cancelled" });
      if (deadline.aborted) return unavailable("timed_out", request);
      return unavailable(answered ? "broken_off" : "unreachable", request);
    }
  };
}

function headersOf(request: UpstreamRequest, accessToken: string | null): Record<string, string> {
  return {
    accept: request.accept === "json" ? "application/json" : "*/*",
    ...(accessToken === null ? {} : { authorization: `Bearer ${accessToken}` }),
    ...(request.body === undefined ? {} : { "content-type": request.body.type }),
  };
}

/** A web page or a redirect, as sleeping instances and gateways answer; a file may be a web page itself. */
function isPage({ status, headers }: Response, { accept }: UpstreamRequest): boolean {
  if (status >= 300 && status < 400) return true;
  if (accept === "stream" && headers.has("x-attachment-metadata")) return false;
  return /^(text\/html|application\/xhtml)/i.test(headers.get("content-type") ?? "");
}

function unavailable(
  because: Extract<ServicenowFailure, { reason: "unavailable" }>["because"],
  { method }: UpstreamRequest,
): Result<never, ServicenowFailure> {
  return failure({ reason: "unavailable", because, ...(method === "GET" ? {} : { uncertain: true }) });
}

/** `Retry-After` in seconds, be it a number or a date (RFC 9110 §10.2.3); `null` when absent or neither. */
export function retryAfterSeconds(headers: Headers, clock: Clock): number | null {
  const text = headers.get("retry-after")?.trim() ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - clock()) / 1_000));
}

function arrivingFile(response: Response, maxBytes: number): ArrivingFile {
  const brokenOff = (): CutFile => new CutFile({ reason: "unavailable", because: "broken_off" });
  async function* pieces(): AsyncGenerator<Uint8Array> {
    let size = 0;
    try {
      for await (const piece of response.body ?? []) {
        size += piece.byteLength;
        if (size > maxBytes) throw new CutFile({ reason: "too_large", limitBytes: maxBytes });
        yield piece;
      }
    } catch (error) {
      if (error instanceof CutFile) throw error;
      throw brokenOff();
    }
    // by HTTP/2, a body that its sender cancels ends like a whole one (RFC 9113 §8.1); a compressed one misses its end
    const declared = response.headers.has("content-encoding") ? null : declaredLength(response);
    if (declared !== null && size !== declared) throw brokenOff();
  }
  return {
    pieces: pieces(),
    async cancel() {
      if (response.body?.locked !== false) return;
      await response.body.cancel().catch(() => {}); // it broke off: `pieces` has told
    },
  };
}
