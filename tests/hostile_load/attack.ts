/** One hostile but valid request. */
import type { Random } from "../soak/random.ts";

/** A request that is on its way to the server. */
export interface HostileRequest {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text goes out as it is, anything else as JSON. */
  readonly body?: unknown;
  /** Leave so many milliseconds after sending, whatever has come. */
  readonly leaveAfterMilliseconds?: number;
}

/** Makes one request of its kind. */
export type Attack = (random: Random) => HostileRequest;

/** Attacks by name. */
export type Attacks = Readonly<Record<string, Attack>>;

/** A request of JSON-RPC. */
export function rpc(method: string, params?: unknown, id: string | number = 1): Record<string, unknown> {
  return { jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) };
}

/** A `tools/call`. */
export function call(name: string, input: Readonly<Record<string, unknown>>): HostileRequest {
  return { path: "/mcp", body: rpc("tools/call", { name, arguments: input }) };
}
