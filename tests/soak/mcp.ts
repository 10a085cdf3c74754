/** How the actors speak MCP: one request, one answer, and no doubt about what an answer says. */
import assert from "node:assert/strict";
import { lastMessage, modernRequest, postMcp, toolCall } from "../fixtures/mcp_call.ts";
import type { SoakedServer } from "./soaked_server.ts";

/** A JSON-RPC answer. */
export interface Answer {
  readonly status: number;
  readonly result: Record<string, unknown> | undefined;
  readonly error: { readonly code: number; readonly message: string } | undefined;
}

/** Posts one message. */
export async function post(
  server: SoakedServer,
  message: unknown,
  options: { readonly token: string; readonly headers?: Record<string, string> },
): Promise<Answer> {
  const response = await postMcp(server.url, message, { ...options, fetch: server.fetch });
  const text = await response.text();
  const body = text === "" || response.status === 401 ? {} : lastMessage(text);
  return {
    status: response.status,
    result: body["result"] as Answer["result"],
    error: body["error"] as Answer["error"],
  };
}

/** Posts one message of 2026-07-28 by a client that takes tasks. */
export function postModern(
  server: SoakedServer,
  token: string,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<Answer> {
  const { message, headers } = modernRequest(method, params, tasksTaken);
  return post(server, message, { token, headers });
}

/** Capabilities of a client that takes tasks. */
export const tasksTaken = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** Calls a tool that has to succeed; gives what it answers with. */
export async function callTool(
  server: SoakedServer,
  token: string,
  name: string,
  input: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const { status, result, error } = await post(server, toolCall(name, input), { token });
  assert.ok(
    status === 200 && result?.["isError"] === false,
    `${name} ${JSON.stringify(input).slice(0, 300)} was refused: ${status} ${
      JSON.stringify(result ?? error).slice(0, 500)
    }`,
  );
  return result["structuredContent"] as Record<string, unknown>;
}

/** Whether a token is accepted; anything but yes and no is broken. */
export async function isAccepted(server: SoakedServer, token: string): Promise<boolean> {
  const { status } = await post(server, toolCall("file_list", {}), { token });
  assert.ok(status === 200 || status === 401, `a token was answered with ${status}`);
  return status === 200;
}

/** A file's content; `null` where there is none. */
export async function readFile(server: SoakedServer, token: string, filename: string): Promise<string | null> {
  const { status, result, error } = await post(server, toolCall("file_read", { filename, max_bytes: 2 ** 20 }), {
    token,
  });
  assert.equal(status, 200, `file_read was answered with ${status} ${JSON.stringify(error)}`);
  if (result?.["isError"] === false) {
    const { content, next_cursor: cursor } = result["structuredContent"] as { content: string; next_cursor?: string };
    assert.equal(cursor, undefined, `${filename} is larger than one answer`);
    return content;
  }
  const said = JSON.stringify(result);
  assert.match(said, /no such file/, `file_read of ${filename}: ${said}`);
  return null;
}
