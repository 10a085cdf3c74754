/** Single requests of ServiceNow's client, for `play_connection.ts`. */
import type { Fetch } from "../servicenow/transport.ts";

/** What is wrong, and what to do about it. */
export interface Finding {
  readonly text: string;
  readonly remedy?: string;
}

/** How to reach the server. */
export interface AskOptions {
  readonly fetch: Fetch;
  /** For each request. */
  readonly timeoutSeconds: number;
}

/** A request: GET, or POST with a body. */
interface AskRequest {
  readonly accept?: string;
  readonly authorization?: string;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
}

interface Asked {
  readonly status: number;
  readonly headers: Headers;
  /** `null` when it is no JSON object. */
  readonly body: Readonly<Record<string, unknown>> | null;
}

export interface ClientMessage {
  readonly id: number;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Tells a problem from what was asked for. */
export function isFinding<T>(found: T | Finding): found is Finding {
  return typeof found === "object" && found !== null && "text" in found;
}

/** Sends one request and reads the answer. Redirects are not followed. */
export async function askServer(
  { fetch, timeoutSeconds }: AskOptions,
  url: string,
  { accept = "application/json", authorization, json, form }: AskRequest,
): Promise<Asked | Finding> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), timeoutSeconds * 1_000);
  const headers: Record<string, string> = { accept };
  if (authorization !== undefined) headers["authorization"] = authorization;
  if (json !== undefined) headers["content-type"] = "application/json";
  if (form !== undefined) headers["content-type"] = "application/x-www-form-urlencoded";
  const body = json !== undefined ? JSON.stringify(json) : form && new URLSearchParams(form).toString();
  try {
    const response = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      headers,
      redirect: "manual",
      signal: controller.signal,
      ...(body === undefined ? {} : { body }),
    });
    return { status: response.status, headers: response.headers, body: parseObject(await response.text()) };
  } catch {
    return { text: `${new URL(url).origin} does not answer`, remedy: "start the server, or correct SERVER_URL" };
  } finally {
    clearTimeout(timer);
  }
}

/** Sends one JSON-RPC request and gives its result. */
export async function callMcp(
  options: AskOptions,
  url: string,
  message: ClientMessage,
  accessToken?: string,
): Promise<Readonly<Record<string, unknown>> | Finding> {
  const answer = await askServer(options, url, {
    json: { jsonrpc: "2.0", ...message },
    ...(accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` }),
  });
  if (isFinding(answer)) return answer;
  const { status, headers, body } = answer;
  if (status === 401) {
    return { text: `${message.method} wants a token`, remedy: "set PUBLIC_INITIALIZE=auto or always" };
  }
  const result = body?.["result"];
  if (status !== 200 || !/^application\/json/i.test(headers.get("content-type") ?? "")) {
    return { text: `${message.method} is answered with status ${status}, not with JSON` };
  }
  return typeof result === "object" && result !== null
    ? result as Readonly<Record<string, unknown>>
    : { text: `${message.method} is answered with an error: ${JSON.stringify(body?.["error"])}` };
}

/** The problem of an answer with another status than expected. */
export function wrongStatus(status: number, expected: number): Finding {
  return { text: `the answer has status ${status} and not ${expected}` };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value as Record<string, unknown> : null;
  } catch {
    return null; // not JSON
  }
}
