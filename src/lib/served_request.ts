/**
 * The head and body of a request as Deno's server has them, without a copy. Once `headers` was read, Deno copies all of
 * them when it answers, and `bytes()` gives a body that is already there by promise: 2 of the 19 µs of a call. The way
 * around is Deno's own object behind the request, which is no public interface. So its shape is checked at each request,
 * its headers are compared with the public ones at the first that has any, and where anything differs all goes the
 * public way.
 */

/** Deno's `InnerRequest` (ext/http/00_serve.ts), as far as it is used here. */
interface ServedRequest {
  /** The value of all lines of a header, joined as `Headers.get` joins them. */
  header(name: string): string | null;
  /** `null` for methods without one; taking it takes the bytes from the connection. */
  readonly body: ServedBody | null;
}

/** Deno's `InnerBody` (ext/fetch/22_body.js). */
interface ServedBody {
  readonly streamOrStatic: { readonly body?: unknown; readonly consumed?: boolean };
  consume(): unknown;
}

/** A request, or what has its headers. */
export type HeaderHolder = Pick<Request, "headers">;

let key: symbol | undefined;
let agrees: boolean | undefined;

function servedRequest(request: HeaderHolder): ServedRequest | null {
  if (agrees === false) return null;
  key ??= Object.getOwnPropertySymbols(request).find(({ description }) => description === "request");
  const inner = key === undefined
    ? undefined
    : (request as unknown as Record<symbol, Partial<ServedRequest> | undefined>)[key];
  if (typeof inner?.header !== "function") return null; // made by `new Request`, or by another Deno
  agrees ??= hasSameHeaders(inner as ServedRequest, request.headers);
  return agrees === true ? inner as ServedRequest : null;
}

/** Undecided where there are none, such as in the probe of a load balancer, or where the caller has gone already. */
function hasSameHeaders(inner: ServedRequest, headers: Headers): boolean | undefined {
  const names = [...headers.keys()]; // from here on, Deno's `get` looks into the copy that this makes
  if (names.length === 0) return undefined;
  try {
    return names.every((name) => inner.header(name) === headers.get(name)) &&
      inner.header(`x-${crypto.randomUUID()}`) === null;
  } catch {
    return undefined;
  }
}

/** Whether requests of Deno's server are read without a copy, once the first has come. */
export function readsDirectly(request: Request): boolean {
  return servedRequest(request) !== null;
}

/** `request.headers.get(name)`, for a name in lower case. Once the request is answered, {@link keepHeaders} has to have kept it. */
export function headerOf(request: HeaderHolder, name: string): string | null {
  const served = servedRequest(request);
  if (served === null) return request.headers.get(name);
  try {
    return served.header(name);
  } catch {
    return request.headers.get(name); // it is answered: Deno has let go of all but what was kept
  }
}

/** Keeps the headers for the time after the answer. */
export function keepHeaders(request: Request): void {
  void request.headers;
}

/** The whole body, where it is there already; `null` leaves it to `request.bytes()`. */
export function bytesAtHand(request: Request): Uint8Array | null {
  try {
    const body = servedRequest(request)?.body ?? null;
    if (body === null || !(body.streamOrStatic?.body instanceof Uint8Array)) return null;
    if (body.streamOrStatic.consumed !== false || typeof body.consume !== "function") return null;
    const bytes = body.consume();
    return bytes instanceof Uint8Array ? bytes : null;
  } catch {
    return null; // it is gone with its connection, which the public way tells by a rejection
  }
}
