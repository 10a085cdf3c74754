/** Two servers on one database, and clients that talk to either of them. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { type EventReader, readEvents } from "../mcp/event_reader.ts";

/** A token of the command line. */
export interface FleetToken {
  readonly text: string;
  readonly id: string;
}

/** The servers, and what the command line does beside them. */
export interface Fleet extends AsyncDisposable {
  readonly first: RunningServer;
  readonly second: RunningServer;
  createToken(): Promise<FleetToken>;
  revoke(token: FleetToken): Promise<void>;
}

/** Starts a fleet on the database that the settings name; on SQLite without any. Its workspace is in the database. */
export async function startFleet(database: (directory: string) => Readonly<Record<string, string>>): Promise<Fleet> {
  const place = await makeServerPlace();
  const env = {
    DATA_DIR: place.dataDir,
    WORKSPACE_STORE: "storage",
    MCP_RATE_LIMIT: "1000000",
    ...database(place.dataDir),
  };
  const program = "tests/fleet/fleet_server.ts";
  const flags = ["--config", "deno.dev.json", "--allow-all"];
  const first = await startServer(place, { env, program, flags, command: null });
  const second = await startServer(place, { env, program, flags, command: null });
  const command = async (...words: string[]) => {
    const done = await runCommand(words, { env });
    assert.equal(done.code, 0, done.stderr);
    return done;
  };
  return {
    first,
    second,
    async createToken() {
      const made = await command("token", "create", "--scope", "files:write");
      return { text: made.stdout.trim(), id: /token (\S+), until/.exec(made.stderr)?.[1] ?? assert.fail(made.stderr) };
    },
    revoke: async ({ id }) => void await command("token", "revoke", id),
    async [Symbol.asyncDispose]() {
      await Promise.all([first.stop(), second.stop()]);
      await place[Symbol.asyncDispose]();
    },
  };
}

/** One legacy client's session, which it may use on any instance. */
export interface FleetSession {
  readonly headers: Readonly<Record<string, string>>;
  post(server: RunningServer, message: Readonly<Record<string, unknown>>): Promise<Response>;
  /** Posts a call whose answer is a stream: progress is asked for. */
  callStream(server: RunningServer, name: string, input: Record<string, unknown>, id: number): Promise<EventReader>;
  /** Posts a call and gives the text of its result. */
  callText(server: RunningServer, name: string, input: Record<string, unknown>): Promise<string>;
  get(server: RunningServer, lastEventId?: string): Promise<EventReader>;
  end(server: RunningServer): Promise<number>;
}

const accept = "application/json, text/event-stream";
const legacyCall = { method: "tools/call", isModern: false };

/** Begins a session of 2025-11-25 on `server`. */
export async function beginSession(server: RunningServer, { text: token }: FleetToken): Promise<FleetSession> {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation: {} },
    clientInfo: { name: "fleet", version: "1" },
  };
  const begun = await postMcp(server.url, { jsonrpc: "2.0", id: 0, method: "initialize", params }, { token });
  await begun.body?.cancel();
  const headers = {
    "mcp-session-id": begun.headers.get("mcp-session-id") ?? assert.fail("no session"),
    "mcp-protocol-version": "2025-11-25",
  };
  const authorization = `Bearer ${token}`;
  const post = (at: RunningServer, message: unknown) => postMcp(at.url, message, { token, headers });
  return {
    headers,
    post,
    async callStream(at, name, input, id) {
      const call = toolCall(name, input, id);
      const withToken = { ...call["params"] as object, _meta: { progressToken: id } };
      return readEvents(await post(at, { ...call, params: withToken }), legacyCall);
    },
    async callText(at, name, input) {
      const { result } = await (await post(at, toolCall(name, input, crypto.randomUUID()))).json();
      assert.equal(result.isError, false, JSON.stringify(result));
      return result.content[0].text;
    },
    async get(at, lastEventId) {
      const more = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
      return readEvents(
        await fetch(`${at.url}/mcp`, { headers: { accept, authorization, ...headers, ...more } }),
        legacyCall,
      );
    },
    async end(at) {
      const response = await fetch(`${at.url}/mcp`, { method: "DELETE", headers: { authorization, ...headers } });
      await response.body?.cancel();
      return response.status;
    },
  };
}

/** Reads on until an event of this method, or (`null`) until the response, and gives its message. */
export async function readUntil(reader: EventReader, method: string | null): Promise<Record<string, unknown>> {
  for (;;) {
    const event = await reader.next();
    if (event === null) assert.fail(`the stream ended before ${method ?? "the response"}`);
    if (event.message !== null && (event.message["method"] ?? null) === method) return event.message;
  }
}
