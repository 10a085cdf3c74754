/** Reads bodies of any size that may never end. */

/**
 * A reader that the signal ends. Deno forgets to pass an abort on to a body once its `Response` is out of reach, and a
 * read would then wait for ever: so the reader itself is cancelled, and its reads report `done`.
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

/** The beginning of the body as text, and whether that was all of it; beyond `maxBytes` nothing is read. */
export async function readText(
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
