/**
 * The work for a request grows with its size, not with its square: four times the size may cost ten times the processor
 * time of the started server. Only what takes long enough to be measured is judged.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { call, type HostileRequest, rpc } from "./attack.ts";
import { sendHostile } from "./hostile_caller.ts";

const large = 1_000_000;
const growth = 4;
const allowedFactor = 10;
const measurableMilliseconds = 40;
const measurements = 3;

const text = (characters: number, unit: string): string => unit.repeat(Math.ceil(characters / unit.length));
const many = (count: number, item: unknown): unknown[] => Array(Math.floor(count)).fill(item);
/** A period with an odd one out in its middle: each place of a text of the same period fits half of it. */
const oddInTheMiddle = (characters: number): string => `${"a".repeat(characters / 2)}b${"a".repeat(characters / 2)}`;
const oauth = (path: string, body: string): HostileRequest => ({
  path,
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body,
});
const format = (schema: unknown): HostileRequest => call("llm_generate", { prompt: "x", json_schema: schema });
const editOfLetters = (characters: number, newText: string): HostileRequest =>
  call("file_edit", {
    filename: `letters-${characters}.txt`,
    old_text: "a",
    new_text: newText,
    replace_all: true,
    dry_run: true,
  });
/** For the large request as many as a query may have; for the small one far less, to stand out. */
const queryLetters = (bytes: number): number => Math.floor((bytes / large) ** 3 * 998);

/** For the large request nearly as many as a body may have. */
const valuesOf = (bytes: number): number => Math.floor((bytes / large) * 19_000);

/** Requests of about so many bytes, or values. */
const requests: Readonly<Record<string, (bytes: number) => HostileRequest>> = {
  "a text to find that nearly fits everywhere": (bytes) =>
    call("file_edit", { filename: "letters.txt", old_text: oddInTheMiddle(bytes / 2), new_text: "x", dry_run: true }),
  "lines that an edit joins": (bytes) =>
    call("file_edit", {
      filename: `lines-${bytes}.txt`,
      old_text: "\n",
      new_text: "",
      replace_all: true,
      dry_run: true,
    }),
  "replacements on one long line": (bytes) => editOfLetters(bytes, "b"),
  "deletions on one long line": (bytes) => editOfLetters(bytes, ""),
  "lines that an edit splits": (bytes) => editOfLetters(bytes / 2, "\n"),
  "a text to search for that nearly fits everywhere on a long line": (bytes) =>
    call("file_search", {
      pattern: `nearly-${bytes}-*.txt`,
      query: oddInTheMiddle(queryLetters(bytes)),
    }),
  "a schema of many alternatives": (bytes) => format({ anyOf: many(valuesOf(bytes) / 2, { items: [] }) }),
  "a schema of many types": (bytes) => format({ type: many(valuesOf(bytes), "string") }),
  "a schema of one long reference": (bytes) => format({ $ref: `#/${text(bytes, "a/")}` }),
  "a schema of many references": (bytes) => format({ allOf: many(valuesOf(bytes) / 2, { $ref: "#" }) }),
  "a schema of many properties": (bytes) =>
    format({
      properties: Object.fromEntries(Array.from({ length: valuesOf(bytes) }, (_, index) => [`k${index}`, {}])),
    }),
  "many wrong messages": (bytes) => call("llm_generate", { prompt: "x", messages: many(valuesOf(bytes), {}) }),
  "many wrong files of a message": (bytes) =>
    call("llm_generate", { prompt: "x", messages: [{ role: "user", content: "y", files: many(valuesOf(bytes), {}) }] }),
  "many names of files": (bytes) => call("file_read", { filename: "a", files: many(valuesOf(bytes), "a") }),
  "many arguments that nobody knows": (bytes) =>
    call("file_read", Object.fromEntries(Array.from({ length: valuesOf(bytes) }, (_, index) => [`k${index}`, 1]))),
  "many lists that nobody knows": (bytes) =>
    call("file_read", Object.fromEntries(Array.from({ length: valuesOf(bytes) }, (_, index) => [`k${index}`, []]))),
  "a long path": (bytes) => call("file_read", { filename: text(bytes, "a/") }),
  "a long glob": (bytes) => call("file_list", { pattern: text(bytes, "{a,b}") }),
  "a long expression": (bytes) => call("file_search", { query: text(bytes, "(a|b)*"), regex: true }),
  "a made-up cursor": (bytes) => call("file_list", { cursor: text(bytes, "W10") }),
  "a made-up cursor of a list": (bytes) => ({
    path: "/mcp",
    body: rpc("resources/list", { cursor: text(bytes, "é") }),
  }),
  "a long address": (bytes) => ({
    path: "/mcp",
    body: rpc("resources/read", { uri: `workspace:///${text(bytes, "%2e/")}` }),
  }),
  "a long value to complete": (bytes) => ({
    path: "/mcp",
    body: rpc("completion/complete", {
      ref: { type: "ref/resource", uri: "workspace:///{+path}" },
      argument: { name: "path", value: text(bytes, "%a/") },
    }),
  }),
  "a deep value": (bytes) => ({
    path: "/mcp",
    body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${text(bytes / 2, "[")}${text(bytes / 2, "]")}}}`,
  }),
  "a long name of a method": (bytes) => ({ path: "/mcp", body: rpc(text(bytes, "é/")) }),
  "a long id": (bytes) => ({ path: "/mcp", body: rpc("ping", undefined, text(bytes, '"')) }),
  "no JSON": (bytes) => ({ path: "/mcp", body: text(bytes, '{"a":[') }),
  "many pairs of a form": (bytes) => oauth("/oauth/token", text(bytes / 16, "a=b&")),
  "a token of many parts": (bytes) => oauth("/oauth/revoke", `token=${text(bytes / 16, "a.")}`),
  "many redirect addresses": (bytes) => ({
    path: "/oauth/register",
    body: { redirect_uris: many(bytes / 16 / 3, 0) },
  }),
  "a long redirect address": (bytes) => ({
    path: "/oauth/register",
    body: { redirect_uris: [`https://a.example/${text(bytes / 17, "..%2e")}`] },
  }),
};

Deno.test({
  name: "four times as large a request costs no more than ten times the processor time",
  ignore: Deno.build.os !== "linux", // only /proc tells what another process used
  async fn(t) {
    await using place = await makeServerPlace();
    await Deno.mkdir(place.workspaceDir, { recursive: true });
    await Deno.writeTextFile(join(place.workspaceDir, "letters.txt"), "a".repeat(large));
    for (const bytes of [large / growth, large]) {
      await Deno.writeTextFile(join(place.workspaceDir, `lines-${bytes}.txt`), "a\n".repeat(bytes / 2));
      const query = oddInTheMiddle(queryLetters(bytes));
      for (const copy of [1, 2, 3]) {
        const name = `nearly-${bytes}-${copy}.txt`;
        await Deno.writeTextFile(join(place.workspaceDir, name), `${"a".repeat(bytes)}\n${query}`);
      }
    }
    for (const characters of [large / growth / 2, large / growth, large / 2, large]) {
      await Deno.writeTextFile(join(place.workspaceDir, `letters-${characters}.txt`), "a".repeat(characters));
    }
    const words = ["token", "create", "--scope", "files:write llm:generate", "--data-dir", place.dataDir];
    const token = (await runCommand(words)).stdout.trim();
    await using server = await startServer(place, {
      env: {
        MCP_RATE_LIMIT: "1000000",
        OAUTH_RATE_LIMIT: "1000000",
        OLLAMA_HOST: "127.0.0.1:1",
      },
    });
    const cost = async (request: HostileRequest): Promise<number> => {
      let least = Infinity;
      for (let measured = 0; measured < measurements; measured++) {
        const before = processorMilliseconds(server.pid);
        const { finding } = await sendHostile(server.url, token, request);
        assert.equal(finding, null);
        least = Math.min(least, processorMilliseconds(server.pid) - before);
      }
      return least;
    };
    for (const [name, make] of Object.entries(requests)) {
      await t.step(name, async () => {
        const small = await cost(make(large / growth));
        const whole = await cost(make(large));
        const allowed = allowedFactor * Math.max(small, measurableMilliseconds);
        assert.ok(whole <= allowed, `${whole} ms of processor time, and ${small} for a quarter`);
      });
    }
  },
});

/** What the process used so far, in the 100 ticks a second that Linux counts. */
function processorMilliseconds(pid: number): number {
  const fields = Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ")[1]?.split(" ") ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12]));
}
