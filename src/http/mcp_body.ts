/** Reads a request's body as text, within a limit, as cheaply as the request allows. */

/** Why a body was not read. */
export type BodyRefusal = "too_large" | "unreadable";

/** A body's text, or why there is none. */
export type BodyOutcome =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly refusal: BodyRefusal };

const tooLarge: BodyOutcome = { ok: false, refusal: "too_large" };
const unreadable: BodyOutcome = { ok: false, refusal: "unreadable" };

/**
 * The body's text. A body with Content-Length is judged by it before a byte is read (the HTTP layer holds the sender to
 * it) and then read at once; only one without is counted as it streams in, which costs more.
 */
export async function readBodyText(request: Request, maxBodyBytes: number): Promise<BodyOutcome> {
  const length = request.headers.get("content-length");
  try {
    if (length === null) return await readStream(request, maxBodyBytes);
    return Number(length) <= maxBodyBytes ? { ok: true, text: await request.text() } : tooLarge;
  } catch {
    return unreadable; // the sender hung up, or broke the framing
  }
}

async function readStream(request: Request, maxBodyBytes: number): Promise<BodyOutcome> {
  if (request.body === null) return { ok: true, text: "" };
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of request.body) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) return tooLarge;
    text += decoder.decode(chunk, { stream: true });
  }
  return { ok: true, text: text + decoder.decode() };
}
