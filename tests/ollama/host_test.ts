import assert from "node:assert/strict";
import { ollamaSettings, parseOllamaHost } from "../../src/llm/mod_settings.ts";

/** The cases of Ollama's own test of `envconfig.Host`, and what a client makes of the addresses that mean "all". */
const cases: readonly (readonly [setting: string, baseUrl: string])[] = [
  ["", "http://127.0.0.1:11434/"],
  ["  ", "http://127.0.0.1:11434/"],
  ["1.2.3.4", "http://1.2.3.4:11434/"],
  [":1234", "http://127.0.0.1:1234/"],
  ["1.2.3.4:1234", "http://1.2.3.4:1234/"],
  ["example.com", "http://example.com:11434/"],
  ["example.com:1234", "http://example.com:1234/"],
  ["example.com:", "http://example.com:11434/"],
  ["[::1]", "http://[::1]:11434/"],
  ["::1", "http://[::1]:11434/"],
  ["[::1]:1337", "http://[::1]:1337/"],
  ["[::]", "http://[::1]:11434/"],
  ["0.0.0.0", "http://127.0.0.1:11434/"],
  ["0.0.0.0:8000", "http://127.0.0.1:8000/"],
  [" 1.2.3.4 ", "http://1.2.3.4:11434/"],
  ['"1.2.3.4"', "http://1.2.3.4:11434/"],
  [' " 1.2.3.4 " ', "http://1.2.3.4:11434/"],
  ["'1.2.3.4'", "http://1.2.3.4:11434/"],
  ["http://1.2.3.4", "http://1.2.3.4/"],
  ["http://1.2.3.4:4321", "http://1.2.3.4:4321/"],
  ["https://1.2.3.4", "https://1.2.3.4/"],
  ["https://1.2.3.4:4321", "https://1.2.3.4:4321/"],
  ["https://example.com/ollama", "https://example.com/ollama/"],
  ["https://example.com/ollama/", "https://example.com/ollama/"],
  ["example.com:1234/a/b", "http://example.com:1234/a/b/"],
  ["ollama.com", "https://ollama.com/"],
  ["localhost", "http://localhost:11434/"],
];

Deno.test("parseOllamaHost() reads OLLAMA_HOST by the rules of Ollama's own client", () => {
  for (const [setting, baseUrl] of cases) {
    const parsed = parseOllamaHost(setting);
    assert.equal(parsed.ok && parsed.value.baseUrl, baseUrl, JSON.stringify(setting));
  }
});

Deno.test("parseOllamaHost() keeps the port of the scheme for messages and direct connections", () => {
  const parsed = parseOllamaHost("https://example.com/x");
  assert.ok(parsed.ok);
  assert.deepEqual([parsed.value.port, parsed.value.origin, parsed.value.hostname, parsed.value.isLoopback], [
    443,
    "https://example.com",
    "example.com",
    false,
  ]);
});

Deno.test("parseOllamaHost() turns credentials into a header and keeps them out of every URL", () => {
  const parsed = parseOllamaHost("https://ann:s%3Acret@example.com:8443");
  assert.ok(parsed.ok);
  assert.equal(parsed.value.basicAuthorization, `Basic ${btoa("ann:s:cret")}`);
  assert.doesNotMatch(parsed.value.baseUrl + parsed.value.origin, /ann|cret/);
});

Deno.test("parseOllamaHost() knows loopback addresses", () => {
  for (const setting of ["", "localhost:1", "127.8.9.1", "::1", "0.0.0.0", "https://127.0.0.1"]) {
    const parsed = parseOllamaHost(setting);
    assert.ok(parsed.ok && parsed.value.isLoopback, setting);
  }
  for (const setting of ["127.0.0.1.example.com", "10.0.0.1", "localhost.example.com"]) {
    const parsed = parseOllamaHost(setting);
    assert.ok(parsed.ok && !parsed.value.isLoopback, setting);
  }
});

Deno.test("parseOllamaHost() refuses what no client can connect to, without repeating it", () => {
  for (
    const setting of [
      ":0",
      ":66000",
      ":-1",
      "foo:bar",
      "http://foo:bar/x",
      "ftp://example.com",
      "a b",
      "http://x?y=1",
      "http://x/#f",
      "a:b:c",
      "http://[::1",
      "x\\y",
    ]
  ) {
    const parsed = parseOllamaHost(setting);
    assert.ok(!parsed.ok && !parsed.error.includes(setting), setting);
  }
});

Deno.test("OLLAMA_HOST is one host: a list is refused, with the way to go", () => {
  for (const setting of ["127.0.0.1, https://example.com ,:1234", " , :1234", "127.0.0.1,"]) {
    const parsed = ollamaSettings.host.parse(setting);
    assert.match(parsed.ok ? "" : parsed.error, /one host: put a proxy/, setting);
  }
});
