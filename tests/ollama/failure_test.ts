import assert from "node:assert/strict";
import { fromStatus, quoteUpstream } from "../../src/llm/transport.ts";
import { parseOllamaHost } from "../../src/llm/mod_settings.ts";

Deno.test("quoteUpstream() takes credentials, paths and control characters out of an upstream's words", () => {
  const cases: readonly (readonly [said: string, shown: string])[] = [
    ["unable to load /home/ann/.ollama/models/blobs/sha256-12: bad magic", "unable to load …: bad magic"],
    ['open "/usr/share/ollama/x": denied', 'open "…": denied'],
    ["open C:\\Users\\ann\\models\\x.gguf: denied", "open …: denied"],
    ["open c:/Users/ann/x: denied", "open …: denied"],
    ["see file:///etc/passwd", "see …"],
    ["Get https://ann:pw@example.com/v2: refused", "Get https://example.com/v2: refused"],
    ["Get https://example.com/?api_key=12345&x=1", "Get https://example.com/?api_key=…&x=1"],
    ["sent Bearer abc.def-123 to it", "sent Bearer … to it"],
    ["red\u001b[31m\u0000\nline\u2028next", "red [31m line next"],
    ["a/b is a ratio, 1/2 too", "a/b is a ratio, 1/2 too"],
    [
      "registry.ollama.ai/library/tinyllama does not support tools",
      "registry.ollama.ai/library/tinyllama does not support tools",
    ],
  ];
  for (const [said, shown] of cases) assert.equal(quoteUpstream(said), shown);
});

Deno.test("quoteUpstream() is short, however long the upstream speaks", () => {
  assert.equal(quoteUpstream("x".repeat(1_000_000)).length, 301);
});

Deno.test("fromStatus() says what to do about an image for a model without vision, in each of Ollama's wordings", () => {
  const host = parseOllamaHost("");
  assert.ok(host.ok);
  for (
    const error of [
      "Multimodal data provided, but model does not support multimodal requests.",
      "image input is not supported by this model",
      "this model does not support images",
      "Failed to create new sequence: this model is missing data required for image input",
    ]
  ) {
    const { message } = fromStatus(500, JSON.stringify({ error }), {
      host: host.value,
      model: "phi3",
      apiKeySent: false,
    });
    assert.match(message, /Image input is not supported by phi3: leave out image files, or use another model/);
  }
});
