/** Equivalent addresses (RFC 3986 §6.2.2, §6.2.3) are one resource, for whoever serves them. */
import assert from "node:assert/strict";
import { canonicalUri, createResourceRegistry, familyOf, type ResourceFamily } from "../../src/mcp/resource.ts";
import { testContext } from "../fixtures/ollama_calls.ts";
import { principalOf } from "../servicenow/principal.ts";

const equivalents: readonly (readonly [plain: string, others: readonly string[]])[] = [
  ["files:///a/b.txt", [
    ...[
      "FILES:///a/b.txt",
      "files:///%61/b%2Etxt",
      "files:///./a/b.txt",
      "files:///a/./b.txt",
      "files:///c/../a/b.txt",
    ],
    ...["files:///c/%2e%2e/a/b.txt", "files:///a/c/../c/.%2E/b.txt", "Files:///c/d/../../a/%2E/b.txt"],
  ]],
  ["files:///a%2Fb", ["files:///a%2fb"]],
  ["files:///a/", ["files:///a/.", "files:///a/b/..", "files:///a/%2e"]],
  ["desk://me", ["DESK://me", "desk://ME", "desk://me/", "desk://Me/."]],
  ["desk://incident/INC1", ["desk://Incident/INC%31", "desk://incident/./INC1", "Desk://incident/x/../INC1"]],
];
/** Not of one another, nor of those above: what climbs above its root, other cases of a path, further slashes. */
const others = [
  ...["files:///../a/b.txt", "files:///a/../../a/b.txt", "files:///%2e%2e/a/b.txt", "files:///A/b.txt"],
  ...[
    "files:///a//b.txt",
    "files:///a/b.txt/",
    "files:////a/b.txt",
    "files://a/b.txt",
    "files:/a/b.txt",
    "files:a/b.txt",
  ],
  ...["files:///a/b.txt?x", "files:///a/b.txt#x", " files:///a/b.txt", "files:///a%252Fb", "files:///", "files://"],
  ...["desk://me//", "desk://incident/INC1/", "desk://incident/inc1", "desk://../me", ""],
];

Deno.test("equivalent addresses reach their family in one spelling, to be read, watched and judged", async () => {
  const asked = new Set<string>();
  const note = (uri: string): true => Boolean(asked.add(uri)) as true;
  const family: ResourceFamily = {
    name: "any",
    scopes: [],
    owns: note,
    list: () => [],
    templates: [],
    read: (uri) => ({ contents: [{ uri: note(uri) && uri, text: "" }] }),
    mayWatch: (uri) => Promise.resolve(note(uri)),
    stamp: (uri) => Promise.resolve(String(note(uri))),
    cacheHint: { ttlMs: 0, cacheScope: "private" },
  };
  const registry = createResourceRegistry([family]);
  for (const [plain, all] of equivalents) {
    for (const uri of [plain, ...all]) {
      asked.clear();
      const found = familyOf(registry, uri);
      await found?.read(uri, testContext());
      await found?.mayWatch?.(uri, principalOf("ada"));
      await found?.stamp?.(uri, principalOf("ada"));
      assert.deepEqual([...asked], [plain], uri);
      assert.equal(canonicalUri(registry, uri), plain, uri);
    }
  }
  const spelled = others.map((uri) => canonicalUri(registry, uri));
  const known = [...spelled, ...equivalents.map(([plain]) => plain)];
  assert.equal(new Set(known).size, known.length, JSON.stringify(known));
});
