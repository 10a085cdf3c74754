/** Reads a body that may be larger than anyone wants to hold. */

/** Up to `maxBytes` of the body as text, and whether that was all of it; the rest is not read. */
export async function readBounded(response: Response, maxBytes: number): Promise<{ text: string; whole: boolean }> {
  if (response.body === null) return { text: "", whole: true };
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return { text: text + decoder.decode(), whole: true };
      text += decoder.decode(value.subarray(0, maxBytes - bytes), { stream: true });
      bytes += value.byteLength;
      if (bytes > maxBytes) return { text, whole: false };
    }
  } finally {
    await reader.cancel().catch(() => {}); // a body that has failed cannot be cancelled, and need not be
  }
}
