/** The clients of the fleet: each does its work at any instance, and holds the fleet to what it acknowledged. */
import { modernRequest, toolCall } from "../fixtures/mcp_call.ts";
import type { Random } from "../soak/random.ts";
import type { Fleet, Reply, Slot } from "./fleet.ts";

/** Thrown where nothing is known of what became of a request: the actor begins anew. */
export class LostReply extends Error {}

/** One client. */
export class Actor {
  readonly fleet: Fleet;
  readonly name: string;
  readonly random: Random;
  readonly address: string;

  constructor(fleet: Fleet, name: string, number: number) {
    this.fleet = fleet;
    this.name = name;
    this.random = fleet.random(name);
    this.address = `198.51.100.${number}`;
  }

  sleep(milliseconds: number): Promise<void> {
    return this.fleet.time.sleep(milliseconds);
  }

  /** An instance that seems to run; one that is down when there is none. */
  anyInstance(): Slot {
    return this.random.pick(this.fleet.running.length > 0 ? this.fleet.running : this.fleet.slots);
  }

  request(path: string, init: RequestInit, slot?: Slot, cutAfterMs?: number): Promise<Reply | null> {
    const options = { address: this.address, ...(cutAfterMs === undefined ? {} : { cutAfterMs }) };
    return this.fleet.request(slot ?? this.anyInstance(), path, init, options);
  }

  /** A page of the server, for {@link createPerson}: anything but an answer to the question is a lost reply. */
  readonly browse = async (url: URL, init: RequestInit): Promise<Response> => {
    const reply = await this.request(`${url.pathname}${url.search}`, init);
    if (reply === null || reply.status >= 400) {
      throw new LostReply(`${reply?.status} ${url.pathname}`); // a repeated form may find that it was done already
    }
    const isBare = reply.status === 204 || reply.status === 304;
    return new Response(isBare ? null : reply.text, { status: reply.status, headers: reply.headers });
  };

  /** A request of 2026-07-28; its result or error, or `null` where nothing is known or the server is busy. */
  async call(
    token: string,
    method: string,
    params: Record<string, unknown>,
    slot: Slot = this.anyInstance(),
  ): Promise<RpcReply | null> {
    const { message, headers } = modernRequest(method, params, taskCapabilities);
    const reply = await this.request("/mcp", post(token, message, headers), slot);
    if (reply === null || reply.status === 503) return null;
    const answer = parseRpc(reply.text);
    return answer.error?.code === 503 ? null : { status: reply.status, ...answer };
  }

  echo(token: string, slot?: Slot): Promise<RpcReply | null> {
    return this.call(token, "tools/call", { name: "echo", arguments: { text: "hello" } }, slot);
  }

  /** Repeats what it does until the end; what a lost reply cut short begins anew. */
  async live(step: () => Promise<void>): Promise<void> {
    while (!this.fleet.isEnding) {
      try {
        await step();
      } catch (error) {
        if (!(error instanceof LostReply)) {
          this.fleet.violate(`${this.name}: ${error instanceof Error ? error.stack : error}`);
          return;
        }
        this.fleet.count(`${this.name}: lost reply`);
      }
      await this.sleep(200 + this.random.int(3_000));
    }
  }

  violate(problem: string): void {
    this.fleet.violate(`${this.name}: ${problem}`);
  }

  did(what: string): void {
    this.fleet.count(`${this.name.replace(/ \d+$/, "")}: ${what}`);
  }
}

/** A JSON-RPC answer, and the HTTP status it came with. */
export interface RpcReply {
  readonly status: number;
  // deno-lint-ignore no-explicit-any -- the shapes differ by method, and a wrong one is a finding
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string };
}

const taskCapabilities = { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };

/** A POST to `/mcp`. */
export function post(token: string, message: unknown, headers: Readonly<Record<string, string>> = {}): RequestInit {
  return {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${token}`,
      ...headers,
    },
    body: JSON.stringify(message),
  };
}

/** The last message of a JSON or event-stream answer. */
export function parseRpc(text: string): Omit<RpcReply, "status"> {
  if (text.startsWith("{")) return JSON.parse(text);
  const data = text.split("\n").filter((line) => line.startsWith("data: {")).map((line) => JSON.parse(line.slice(6)));
  return data.findLast((message) => "result" in message || "error" in message) ?? {};
}

/** A `tools/call` of the legacy era. */
export const legacyCall = toolCall;
