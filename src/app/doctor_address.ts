/** Whether clients reach the address that SERVER_URL names: its name, addresses, port, certificate, and the documents there. */
import type { Check } from "../lib/result.ts";
import { lookup } from "node:dns/promises";
import { isPublicAddress } from "../lib/client_document_url.ts";
import { isLoopbackHost } from "../lib/settings.ts";
import { portOf, withoutBrackets } from "../lib/network.ts";
import { faultWords, fetchFaultWords } from "../lib/system_fault.ts";
import { checksOf } from "./doctor_places.ts";
import { doctorAgent } from "../lib/endpoint.ts";
import { basePathOf } from "../lib/page.ts";
import { atMost } from "../lib/time.ts";

const { well, warning } = checksOf("public address");
const timeoutMs = 5_000;
const inTheCloud = "claude.ai, ChatGPT and other clients in the cloud";

/** The world as these checks see it: here, what is true of this machine. */
export const systemSurroundings = {
  resolve: async (host: string): Promise<readonly string[]> =>
    (await lookup(host, { all: true })).map(({ address }) => address),
  /** Rejects where no trusted certificate for the name is shown. */
  shakeHands,
};

type Surroundings = typeof systemSurroundings;

/**
 * Nothing for an address of this machine alone: no client elsewhere is meant to reach it. Says at its end whether the
 * address can be asked for more. `asksCertificate`: whether nothing is known of the certificate yet.
 */
export async function* examinePublicAddress(
  serverUrl: string,
  { resolve, shakeHands }: Surroundings,
  asksCertificate = true,
): AsyncGenerator<Check, boolean> {
  const url = new URL(serverUrl);
  const host = withoutBrackets(url.hostname);
  if (isLoopbackHost(url.hostname)) return true;
  const addresses = await resolve(host).catch((error: unknown) => faultWords(error));
  if (typeof addresses === "string" || addresses.length === 0) {
    const why = typeof addresses === "string" ? addresses : "the host name has no address";
    yield warning(
      `${host} cannot be looked up: ${why}`,
      "make a DNS record for it, or correct SERVER_URL: no client finds the server",
    );
    return false;
  }
  yield judgeAddresses(host, addresses);
  if (url.port !== "") {
    yield warning(
      `${serverUrl} is on port ${url.port}: claude.ai connects to port 443 only`,
      `serve it on port 443, or behind a proxy or tunnel that does; clients on your own machines connect`,
    );
  }
  if (url.protocol !== "https:") return true;
  if (!asksCertificate) return false;
  const certificate = await judgeCertificate(host, portOf(url), shakeHands);
  yield certificate;
  return certificate.state === "well";
}

function judgeAddresses(host: string, addresses: readonly string[]): Check {
  const hidden = addresses.filter((address) => !isPublicAddress(address));
  if (hidden.length > 0) {
    return warning(
      `${host} leads to ${hidden.join(", ")}, which the internet cannot reach: ${inTheCloud} fail`,
      "for them, name a public address in the DNS or use a tunnel; clients on your own network connect",
    );
  }
  return addresses.some((address) => !address.includes(":"))
    ? well(`${host} leads to ${addresses.join(", ")}`)
    : warning(`${host} has IPv6 addresses only: claude.ai connects by IPv4`, "add an A record with an IPv4 address");
}

/** What can be wrong with the certificate of an address. */
type CertificateFault = "untrusted" | "other_name" | "expired" | "too_early" | "not_shown";

const ownRemedies: Readonly<Record<CertificateFault, string>> = {
  untrusted:
    "serve the full chain (fullchain.pem, not cert.pem); a private authority is known to your own machines only",
  other_name: "have one made for this name",
  expired: "renew it, and reload the proxy",
  too_early: "set this machine's clock",
  not_shown: "start the proxy and the server; try from another network, as some routers do not lead back inside",
};

export async function judgeCertificate(
  host: string,
  port: number,
  shake: Surroundings["shakeHands"],
  remedies = ownRemedies,
): Promise<Check> {
  const certificate = "certificate";
  try {
    await shake(host, port);
    return checksOf(certificate).well(`${host} shows a trusted certificate`);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const [, fault = "not_shown", words = ""] = certificateFaults.find(([pattern]) => pattern.test(message)) ?? [];
    const text = fault === "not_shown"
      ? `${host} port ${port} does not show its certificate to this machine: ${faultWords(error)}`
      : `${host} ${words}: clients refuse it`;
    return checksOf(certificate).warning(text, remedies[fault]);
  }
}

const signInPageMs = 10_000;

/** Opens a sign-in page elsewhere as a browser would. Some compare the redirect address only after the sign-in. */
export async function judgeRedirect(
  url: string,
  { name, party, redirectUri, fetch, remedies }: {
    readonly name: string;
    /** Whose page it is, in a word. */
    readonly party: "instance" | "provider";
    readonly redirectUri: string;
    readonly fetch: typeof globalThis.fetch;
    readonly remedies: { readonly refused: string; readonly silent: string };
  },
): Promise<Check> {
  const { well, warning } = checksOf(name);
  try {
    const { status, headers, body } = await fetch(url, {
      redirect: "manual",
      signal: AbortSignal.timeout(signInPageMs),
    });
    await body?.cancel();
    return status >= 400 || /[?&]error=/.test(headers.get("location") ?? "")
      ? warning(
        `the ${party} refuses the client id or the redirect address ${redirectUri} (${status})`,
        remedies.refused,
      )
      : well(`${redirectUri} is not refused (some ${party}s compare it after the sign-in)`);
  } catch {
    return warning(`the sign-in page of the ${party} does not answer`, remedies.silent);
  }
}

/** What the runtime says, and what it means. */
const certificateFaults: readonly (readonly [RegExp, CertificateFault, string])[] = [
  [
    /UnknownIssuer|UNABLE_TO_VERIFY|unable to (get|verify)|self.signed/i,
    "untrusted",
    "shows a certificate whose chain does not end at a known authority",
  ],
  [/NotValidForName|altname|not valid for/i, "other_name", "shows the certificate of another name"],
  [/Expired|CERT_HAS_EXPIRED/i, "expired", "shows a certificate that has expired"],
  [/NotValidYet|not valid yet/i, "too_early", "shows a certificate that is not valid yet"],
];

async function shakeHands(hostname: string, port: number): Promise<void> {
  const shaking = Deno.connectTls({ hostname, port }).then(async (connection) => {
    await connection.handshake().finally(() => connection.close());
  });
  if (await atMost(timeoutMs, shaking, "late") === "late") throw new Deno.errors.TimedOut("late");
}

const { well: documentsWell, warning: documentsWarning, broken } = checksOf("metadata");

/** How Claude's cloud names itself: some edges refuse it, and nothing but it. */
const cloudAgent = "Claude-User";

/** RFC 8414 §3.3 and RFC 9728 §3.3: what the documents say has to equal the address they were fetched from. */
export async function* examineMetadata(serverUrl: string): AsyncGenerator<Check> {
  const { origin } = new URL(serverUrl);
  const base = basePathOf(serverUrl);
  // RFC 8414 §3.1, RFC 9728 §3.1: a path of the server comes after the well-known one
  const expected = [
    [`/.well-known/oauth-authorization-server${base}`, "issuer", serverUrl],
    [`/.well-known/oauth-protected-resource${base}`, "resource", `${serverUrl}/mcp`],
    [`/.well-known/oauth-protected-resource${base}/mcp`, "resource", `${serverUrl}/mcp`],
  ] as const;
  for (const [path, member, value] of expected) {
    const url = `${origin}${path}`;
    const document = await fetchDocument(url);
    if (typeof document === "string") {
      yield documentsWarning(
        `${url} ${document}`,
        "start the server, or correct SERVER_URL and the proxy before it",
      );
      return; // the other documents would say the same
    }
    yield document[member] === value
      ? documentsWell(url)
      : broken(`${url} says another ${member}`, "set SERVER_URL to the address that clients type");
  }
  yield* examineEdge(`${serverUrl}/mcp`);
}

/** The document, or in words what came instead. */
async function fetchDocument(url: string): Promise<Readonly<Record<string, unknown>> | string> {
  try {
    const response = await fetch(url, {
      headers: { "user-agent": doctorAgent },
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (!response.ok) {
      await response.body?.cancel();
      return `answers with status ${response.status}`;
    }
    const document: unknown = await response.json().catch(() => null);
    return typeof document === "object" && document !== null ? { ...document } : "does not answer with JSON";
  } catch (error) {
    return `cannot be fetched: ${fetchFaultWords(error)}`;
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
  yield status === 401 ? documentsWell(`${url} asks for a sign-in, as it should`) : documentsWarning(
    `${url} answers ${status ?? "nothing"} to a call without a token, not 401`,
    "let the proxy pass POST requests to /mcp with their headers, and answers as they are",
  );
  if (status === 401 && cloudStatus !== 401) {
    yield documentsWarning(
      `${url} answers ${cloudStatus ?? "nothing"} to the agent ${cloudAgent}, and 401 to others`,
      "let your CDN or firewall admit AI agents to /mcp, /oauth and /.well-known",
    );
  }
}
