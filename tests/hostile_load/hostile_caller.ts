/** Sends hostile requests one after the other and judges what comes back. */
import type { HostileRequest } from "./attack.ts";

/** What an answer was. */
export interface HostileAnswer {
  readonly status: number;
  readonly bytes: number;
  /** Why it is a finding; `null` for an honest answer or refusal. */
  readonly finding: string | null;
}

/** No honest answer is larger: the largest read, as text and as data, escaped, over a full batch. */
const maxAnswerBytes = 32_000_000;
const timeoutMs = 60_000;
const keptCharacters = 2_000;
/** The words of an exception that no code expected. */
const crashed = /Internal server error|Internal error/;

/** Sends one request; an answer that does not come in a minute is a finding. */
export async function sendHostile(
  url: string,
  token: string,
  { path, method = "POST", headers = {}, body, leaveAfterMilliseconds }: HostileRequest,
): Promise<HostileAnswer> {
  const leaving = new AbortController();
  const timer = setTimeout(() => leaving.abort(), leaveAfterMilliseconds ?? timeoutMs);
  try {
    const response = await fetch(url + path, {
      method,
      redirect: "manual",
      signal: leaving.signal,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${token}`,
        ...headers,
      },
      ...(method === "GET" ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const { bytes, beginning, end } = await measure(response);
    return { status: response.status, bytes, finding: findingOf(response.status, bytes, beginning + end) };
  } catch (error) {
    if (leaveAfterMilliseconds !== undefined && leaving.signal.aborted) return { status: 0, bytes: 0, finding: null };
    const words = leaving.signal.aborted ? `no answer in ${timeoutMs} ms` : String(error);
    return { status: 0, bytes: 0, finding: words };
  } finally {
    clearTimeout(timer);
  }
}

function findingOf(status: number, bytes: number, text: string): string | null {
  if (status >= 500 && status !== 503) return `status ${status}: ${text.slice(0, 200)}`;
  if (bytes > maxAnswerBytes) return `an answer of ${bytes} bytes`;
  const crash = crashed.exec(text);
  return crash === null ? null : `an exception: ${text.slice(Math.max(0, crash.index - 200), crash.index + 200)}`;
}

async function measure(response: Response): Promise<{ bytes: number; beginning: string; end: string }> {
  const decoder = new TextDecoder();
  let bytes = 0;
  let beginning = "";
  let end = "";
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    const text = decoder.decode(chunk, { stream: true });
    if (beginning.length < keptCharacters) beginning += text.slice(0, keptCharacters);
    end = (end + text.slice(-keptCharacters)).slice(-keptCharacters);
  }
  return { bytes, beginning, end };
}
