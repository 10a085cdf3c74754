/** A call of the protocol as the load generator sends it, and what its answer must be. */
import type { LoadRequest } from "./http_load.ts";

/** One method with its parameters. */
export interface Case {
  readonly name: string;
  readonly method: string;
  readonly params: Record<string, unknown>;
}

/** The request of a case, with the token of its caller. */
export function requestFor({ method, params }: Case, bearer: string): LoadRequest {
  return {
    path: "/mcp",
    headers: {
      "Content-Type": "application/json",
      "Accept": "application/json, text/event-stream",
      "Authorization": `Bearer ${bearer}`,
      "MCP-Protocol-Version": "2025-11-25",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params }),
    check: (status, body) => {
      if (status !== 200 || !body.includes('"id":7') || !body.includes('"result"') || body.includes('"isError":true')) {
        throw new Error(`wrong answer: ${status} ${body.slice(0, 300)}`);
      }
    },
  };
}

/** Posts a message to `/mcp`. */
export function post(port: number, headers: Readonly<Record<string, string>>, body: unknown): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/mcp`, { method: "POST", headers, body: JSON.stringify(body) });
}

/** The result in an answer of either form. */
export function resultIn(answer: string): Record<string, unknown> | undefined {
  return JSON.parse(/^data: (.*)$/m.exec(answer)?.[1] ?? answer).result;
}
