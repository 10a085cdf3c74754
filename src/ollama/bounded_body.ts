/** Reads a body that may be larger than anyone wants to hold, and may never end. */

/**
 * A reader that the signal ends. Deno forgets to pass an abort on to a body once its `Response` is out of reach, and a
 * read would then wait for ever: so the reader is cancelled itself, and its reads say `done`.
 */
export function readUntil(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): ReadableStreamDefaultReader<Uint8Array> {
  const reader = body.getReader();
  const cancel = (): void => void reader.cancel().catch(() => {}); // a body that has failed needs no end
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  return reader;
}

/** Up to `maxBytes` of the body as text, and whether that was all of it; the rest is not read. */
export async function readBounded(
  response: Response,
  { maxBytes, signal }: { readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<{ text: string; whole: boolean }> {
  if (response.body === null) return { text: "", whole: true };
  const reader = readUntil(response.body, signal);
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  while (true) {
    const { done, value } = await reader.read();
    signal.throwIfAborted();
    if (done) return { text: text + decoder.decode(), whole: true };
    text += decoder.decode(value.subarray(0, maxBytes - bytes), { stream: true });
    bytes += value.byteLength;
    if (bytes <= maxBytes) continue;
    await reader.cancel();
    return { text, whole: false };
  }
}
