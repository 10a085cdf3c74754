/** The server's documents, fetched as a client does. */
import { doctorAgent } from "../lib/endpoint.ts";
import { faultWords } from "../lib/system_fault.ts";
import { type Check, checksOf } from "./doctor_places.ts";

const { well, warning, broken } = checksOf("metadata");
const timeoutMs = 5_000;
const maxWordsShown = 200;

/** How Claude's cloud names itself: some edges refuse it, and nothing but it. */
const cloudAgent = "Claude-User";
const headers = { "user-agent": doctorAgent };

/** RFC 8414 §3.3 and RFC 9728 §3.3: what the documents say has to equal the address they were fetched from. */
export async function* examineMetadata(serverUrl: string): AsyncGenerator<Check> {
  const expected = [
    ["/.well-known/oauth-authorization-server", "issuer", serverUrl],
    ["/.well-known/oauth-protected-resource", "resource", `${serverUrl}/mcp`],
    ["/.well-known/oauth-protected-resource/mcp", "resource", `${serverUrl}/mcp`],
  ] as const;
  for (const [path, member, value] of expected) {
    const url = `${serverUrl}${path}`;
    const document = await fetchDocument(url);
    if (typeof document === "string") {
      yield warning(`${url} ${document}`, "start the server, or correct SERVER_URL and the proxy before it");
      return; // the other documents would say the same
    }
    yield document[member] === value
      ? well(url)
      : broken(`${url} says another ${member}`, "set SERVER_URL to the address that clients type");
  }
  yield* examineEdge(`${serverUrl}/mcp`);
}

/** The document, or in words what came instead. */
async function fetchDocument(url: string): Promise<Readonly<Record<string, unknown>> | string> {
  try {
    const response = await fetch(url, { headers, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
    if (!response.ok) {
      await response.body?.cancel();
      return `answers with status ${response.status}`;
    }
    const document: unknown = await response.json().catch(() => null);
    return typeof document === "object" && document !== null ? { ...document } : "does not answer with JSON";
  } catch (error) {
    return `cannot be fetched: ${fetchFault(error)}`;
  }
}

/** Without a token the endpoint answers 401 itself; anything else to this agent alone comes from before it. */
async function* examineEdge(url: string): AsyncGenerator<Check> {
  const ask = async (agent: string): Promise<number | null> => {
    const response = await fetch(url, {
      method: "POST",
      redirect: "manual",
      headers: {
        "user-agent": agent,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
      signal: AbortSignal.timeout(timeoutMs),
    }).catch(() => null);
    await response?.body?.cancel();
    return response?.status ?? null;
  };
  const [status, cloudStatus] = [await ask(doctorAgent), await ask(`${cloudAgent} (${doctorAgent})`)];
  if (status === 401 && cloudStatus !== 401) {
    yield warning(
      `${url} answers ${cloudStatus ?? "nothing"} to the agent ${cloudAgent}, and 401 to others`,
      "let your CDN or firewall pass AI agents to /mcp, /oauth and /.well-known",
    );
  }
}

/** The last part of what fetch says of a failure: the layers above repeat the address. */
function fetchFault(error: unknown): string {
  if (error instanceof DOMException && error.name === "TimeoutError") return "no answer in time";
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const words = faultWords(cause);
  return (words.split(": ").at(-1) ?? words).replace(/ \(os error \d+\)/, "").slice(0, maxWordsShown);
}
