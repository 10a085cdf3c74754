/**
 * A load generator over plain TCP: keep-alive connections that each send a request, read the whole answer, have it
 * checked, and send the next. Cheap enough that the server, not the client, is what is measured.
 */

import { setImmediate } from "node:timers";

/** One request, ready to send, and the check that every answer must pass. */
export interface LoadRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Throws when an answer is not the expected one. */
  readonly check: (status: number, body: string) => void;
}

/** What a run gave. Latencies in milliseconds. */
export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  readonly p50: number;
  readonly p99: number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const headerEnd = encoder.encode("\r\n\r\n");

/** How long a load goes on: so many seconds, or so many requests. */
export type LoadLength = { readonly seconds: number } | { readonly requests: number };

/**
 * Loads `127.0.0.1:port` on `connections` connections; several requests are sent in turn, over and over. Rejects at the
 * first wrong answer.
 */
export async function load(
  port: number,
  requests: LoadRequest | readonly LoadRequest[],
  options: LoadLength & { readonly connections: number },
): Promise<LoadResult> {
  const all = [requests].flat() as readonly LoadRequest[];
  const messages = all.map((request) => encodeRequest(port, request));
  let turn = 0;
  const latencies: number[] = [];
  const start = performance.now();
  const end = "seconds" in options ? start + options.seconds * 1_000 : Infinity;
  const most = "requests" in options ? options.requests : Infinity;

  const oneConnection = async (): Promise<void> => {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    connection.setNoDelay(true);
    const buffer = new Uint8Array(4 * 1_048_576);
    while (turn < most && performance.now() < end) {
      const index = turn++ % all.length;
      const request = all[index];
      const message = messages[index];
      if (request === undefined || message === undefined) throw new Error("no request to send");
      const sent = performance.now();
      await writeAll(connection, message);
      const answer = await readAnswer(connection, buffer);
      latencies.push(performance.now() - sent);
      request.check(answer.status, answer.body);
    }
  };
  // The load never sleeps: the kernel charges the waking of a sleeping client to the server, but only to one that is
  // slower than its load, a baseline hardly ever. 1.4 us a request.
  let isOver = false;
  const stayAwake = (): void => void (isOver || setImmediate(stayAwake));
  stayAwake();
  try {
    await Promise.all(Array.from({ length: options.connections }, oneConnection));
  } finally {
    isOver = true;
  }
  latencies.sort((a, b) => a - b);
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return { requests: latencies.length, seconds: (performance.now() - start) / 1_000, p50: at(0.5), p99: at(0.99) };
}

function encodeRequest(port: number, { path, headers, body }: LoadRequest): Uint8Array {
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    `Content-Length: ${encoder.encode(body).byteLength}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ].join("\r\n");
  return encoder.encode(`${head}\r\n\r\n${body}`);
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.byteLength;) sent += await connection.write(bytes.subarray(sent));
}

async function readAnswer(connection: Deno.Conn, buffer: Uint8Array): Promise<{ status: number; body: string }> {
  let filled = 0;
  for (;;) {
    const count = await connection.read(buffer.subarray(filled));
    if (count === null) throw new Error("the server closed the connection");
    filled += count;
    const headLength = indexOf(buffer, headerEnd, filled);
    if (headLength < 0) continue;
    const head = decoder.decode(buffer.subarray(0, headLength)).toLowerCase();
    const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
    const start = headLength + headerEnd.byteLength;
    const status = Number(head.slice(9, 12));
    if (length !== undefined) {
      const total = start + Number(length);
      if (filled >= total) return { status, body: decoder.decode(buffer.subarray(start, total)) };
    } else if (head.includes("\r\ntransfer-encoding: chunked")) {
      const body = joinChunks(buffer.subarray(start, filled));
      if (body !== null) return { status, body };
    } else throw new Error("an answer without Content-Length that is not chunked either");
  }
}

/** RFC 9112 §7.1. `null` while the last chunk is not there. */
function joinChunks(bytes: Uint8Array): string | null {
  const chunked = new TextDecoder();
  let body = "";
  for (let at = 0;;) {
    const lineEnd = bytes.indexOf(0x0a, at);
    if (lineEnd < 0) return null;
    const size = Number.parseInt(decoder.decode(bytes.subarray(at, lineEnd)), 16);
    const next = lineEnd + 1 + size + 2; // the chunk ends with CRLF, the last one is that alone
    if (bytes.byteLength < next) return null;
    if (size === 0) return body;
    body += chunked.decode(bytes.subarray(lineEnd + 1, lineEnd + 1 + size), { stream: true });
    at = next;
  }
}

function indexOf(buffer: Uint8Array, needle: Uint8Array, end: number): number {
  const first = needle[0] ?? 0;
  for (let at = buffer.indexOf(first); at >= 0 && at + needle.byteLength <= end; at = buffer.indexOf(first, at + 1)) {
    if (needle.every((byte, offset) => buffer[at + offset] === byte)) return at;
  }
  return -1;
}
