/**
 * Notes each step of connecting clients: from requests, and from what the endpoints of the sign-in report of them. A
 * call with a good token costs one look into a map.
 */
import { isObject, parseJson } from "../../lib/json.ts";
import { requestHost } from "../../lib/request_text.ts";
import { basePathOf } from "../../lib/page.ts";
import { belowSign, browserAgent, forwardedSign, type NewStep, postBecameGet, type StepKind } from "./step.ts";
import type { AuditEntry } from "../../mcp/mod.ts";
import type { Principal } from "../../lib/principal.ts";
import { boundedMap } from "../../lib/bounded_map.ts";
import { joinNext } from "../../lib/turns.ts";
import { doctorAgent, type Peer, type ReportedStep } from "../../lib/endpoint.ts";

const maxNameCharacters = 60;
const maxHostCharacters = 80;
const maxUserAgentRead = 300;

/** A name, on one line; `null` where nothing is left. */
function shownName(name: string | null): string | null {
  const clean = (name ?? "").slice(0, 4 * maxNameCharacters).replaceAll(/[\p{C}\p{Z}\s]+/gu, " ").trim();
  return clean === "" ? null : [...clean].slice(0, maxNameCharacters).join("");
}

/** The product of a User-Agent header: `claude-code/2.1`, `browser`. What could be a secret, or is no product, is "other". */
function agentFamily(header: string | null): string {
  const text = (header ?? "").slice(0, maxUserAgentRead).trim();
  if (text === "") return "none";
  if (text.includes(doctorAgent)) return doctorAgent;
  if (/^Mozilla\/5\.0 .*(Gecko|AppleWebKit)/.test(text)) return browserAgent;
  const [, product, version] = /^([A-Za-z][\w .-]{0,31}?)(\/\d[\d.]{0,11})?(?=[ /(;+]|$)/.exec(text) ?? [];
  return product === undefined ? "other" : `${product.trim()}${version ?? ""}`;
}

/** A host with its port, as it is in a URL. */
function shownHost(host: string | null): string | null {
  if (host === null || host === "" || host.length > maxHostCharacters) return null;
  return /^[A-Za-z0-9.:[\]_-]+$/.test(host) ? host.toLowerCase() : null;
}

/** A path of plain words; anything else could hold a secret. */
function shownPath(path: string): string {
  return path === "/" || /^(\/[a-z.][a-z0-9._-]{0,30}){1,4}\/?$/.test(path) ? path : "(another path)";
}

/** The server as its documents name it. */
interface NamedServer {
  /** Whether the server's documents name this host. */
  readonly isOwnHost: (host: string) => boolean;
  /** SERVER_URL: the issuer of the server's tokens. */
  readonly issuer?: string;
}

/** The host that the client used, and what is odd about it. */
function cameBy(request: Request, { isOwnHost, issuer }: NamedServer) {
  const forwardedHost = request.headers.get("x-forwarded-host")?.split(",")[0]?.trim() ?? null;
  const host = shownHost(forwardedHost ?? requestHost(request));
  const proto = request.headers.get("x-forwarded-proto")?.split(",")[0]?.trim().toLowerCase();
  // A proxy that puts its own upstream's address into Host says nothing of the name that the client used.
  const isForwarded = ["x-forwarded-for", "forwarded", "via", "x-real-ip"].some((name) => request.headers.has(name));
  const isRewritten = forwardedHost === null && isForwarded &&
    /^(localhost|[\d.]+|\[[0-9a-f:.]+\])(:\d+)?$/.test(host ?? "");
  const base = issuer === undefined ? "" : basePathOf(issuer);
  const isOtherScheme = (proto === "http" || proto === "https") && issuer?.startsWith(`${proto}:`) === false;
  const isOtherHost = host !== null && !isRewritten && !isOwnHost(host);
  if (isOtherHost) return { host, sign: "other_host" };
  if (isOtherScheme) return { host, sign: "other_scheme" };
  return { host, sign: base !== "" ? `${belowSign}${base}` : isForwarded ? forwardedSign : null };
}

/** Reasons for which a token is refused before its signature was found to be ours. */
const unverified: ReadonlySet<string> = new Set([
  "malformed_token",
  "foreign_token_header",
  "unknown_signing_key",
  "bad_signature",
]);
const maxTokenCharacters = 8_192;

/** Whose token a refused one is, by what it says of itself; `null` where that says no more than the reason. */
function foreignToken({ headers }: Request, reason: string, { issuer }: Pick<NamedServer, "issuer">) {
  if (!unverified.has(reason)) return null;
  const [, token = ""] = /^bearer +(\S+) *$/i.exec((headers.get("authorization") ?? "").slice(0, maxTokenCharacters)) ??
    [];
  const [, payload = ""] = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(token) ?? [];
  if (payload === "") {
    const parts = token.split(".");
    // five parts are encrypted, and none of them but the first is an object
    const isCut = /^(eyJ|pc[a-z]_)/.test(token) && (parts.length !== 5 || parts[1]?.startsWith("eyJ") === true);
    return reason === "malformed_token" && !isCut ? { reason: "token_of_other_kind" } : null;
  }
  const claims = parseJson(new TextDecoder().decode(Buffer.from(payload, "base64url")));
  if (!isObject(claims) || issuer === undefined) return null;
  const { iss, aud } = claims;
  if (iss === issuer) return [aud].flat().includes(`${issuer}/mcp`) ? null : { reason: "wrong_audience" };
  const host = typeof iss === "string" ? shownHost(URL.parse(iss)?.host ?? null) : null;
  return { ...reason === "unknown_signing_key" && host !== null ? {} : { reason: "token_of_other_server" }, host };
}

/** Ways of other servers to prove oneself, which are none here. */
const keyHeaders = ["authorization", "x-api-key", "api-key", "x-auth-token", "x-access-token"];
const keyParameter = /(token|key|auth|authorization|bearer|secret|password)$/i;

/** A client that follows a redirect repeats its POST as a GET, whose `Accept` still wants a POST's answer. */
function wasPost({ method, headers }: Pick<Request, "method" | "headers">): boolean {
  return method === "GET" && headers.get("accept")?.includes("application/json") === true;
}

/** The first that fits; `other` are routes that no client needs to connect. */
const kindsOfPath: readonly (readonly [path: RegExp, kind: StepKind | "other"])[] = [
  [/^\/mcp\/?$|^\/files\//, "other"],
  [/\/\.well-known\/oauth-protected-resource/, "resource_metadata"],
  [/\/\.well-known\/(oauth-authorization-server|openid-configuration)/, "server_metadata"],
  [/\/\.well-known\//, "other"],
  [/^(\/oauth)?\/register$/, "registration"],
  [/^(\/oauth)?\/authorize$/, "authorization"],
  [/^(\/oauth)?\/token$/, "token"],
  [/^\/(oauth\/(sign-in|company|callback)|servicenow\/callback)$/, "sign_in"],
  [/^\/oauth\/consent$/, "consent"],
];

/** Paths that clients look for, since other servers have them. */
const clientPath = /^\/oauth|\/oauth\/|\/(sse|mcp|messages?|userinfo|jwks)\/?$/;

/** Whether a client asks for what is not there, or takes a page for the server. What browsers and scanners fetch is not noted. */
function isLost({ method, headers }: Request, path: string, status: number): boolean {
  if (status === 404 || status === 405) {
    return method === "POST" || headers.has("authorization") || clientPath.test(path);
  }
  return headers.get("content-type")?.startsWith("application/json") === true ||
    headers.get("accept")?.includes("text/event-stream") === true && !path.endsWith("/events");
}

/** Records what `http` and calls observe of clients that connect. None of its notes throws or waits. */
export type AttemptRecorder = ReturnType<typeof createAttemptRecorder>;

type SeenCall = Pick<AuditEntry, "subject" | "clientId" | "grantId" | "method" | "outcome"> & {
  readonly code?: string | null;
};

type Caller = Pick<Principal, "clientId" | "subject" | "grantId">;

const unavailable = "status_503";
const maxSeenGrants = 100_000;
/** The first of each method of a grant is a step. */
const methodBits: ReadonlyMap<string, number> = new Map([["tools/list", 1], ["tools/call", 2]]);
const allMethods = 3;

/** So many answers in a row, and streams since the last `initialize`, that their caller did not wait for. */
const maxCutAnswers = 3;
const maxStreamsGivenUp = 2;
/** A stream that was kept for so long was of use. */
const usefulStreamMs = 60_000;

const goodOutcomes: ReadonlySet<string> = new Set(["registered", "asked", "allowed", "issued"]);
/** Failures of a tool that say that its caller is not ready to use it: such a call is none that went well. */
const unreadyCodes: ReadonlySet<string | null | undefined> = new Set([
  "servicenow_not_linked",
  "servicenow_link_expired",
  "servicenow_unavailable",
  "ollama_unreachable",
  "denied_by_rule",
  "denied_by_person",
  "approval_pending",
]);

/** Turns events into steps and passes each to `note`: kind, outcome, tagged reason and client, never a secret. */
export function createAttemptRecorder(
  { note: noteStep, isOpen, isDiskFull, isDirect, isClockSteady, elapsed, ...server }:
    & NamedServer
    & {
      readonly note: (step: NewStep) => void;
      /** Whether any client may register itself. */
      readonly isOpen: boolean;
      /** Asked where the storage was not available. Never rejects. */
      readonly isDiskFull: () => Promise<boolean>;
      /** Whether clients reach the server without a proxy. */
      readonly isDirect: boolean;
      /** Whether the wall clock has not jumped lately. */
      readonly isClockSteady: () => boolean;
      readonly elapsed: () => number;
    },
) {
  const seen = boundedMap<string, number>(maxSeenGrants);
  const cutAnswers = boundedMap<string, number>(maxSeenGrants);
  const givenUp = boundedMap<string, number>(maxSeenGrants);
  const lookAtDisk = joinNext(isDiskFull);
  let lastLook: Promise<void> = Promise.resolve();
  const signOf = ({ reason, sign }: NewStep): string | null => {
    if (reason?.startsWith("expired") === true) return isClockSteady() ? "clock_steady" : "clock_jumped";
    if (isDirect && sign === "other_host") return "direct_other_host";
    return sign ?? (isDirect ? "direct" : null);
  };
  const note = (given: NewStep): void => {
    if (given.agent === doctorAgent) return;
    const step = { ...given, sign: signOf(given) };
    if (step.reason === unavailable) {
      lastLook = lookAtDisk().then((isFull) => noteStep(isFull ? { ...step, reason: "disk_full" } : step));
    } else noteStep(step);
  };

  const baseOf = (request: Request, { address }: Peer, kind: StepKind): NewStep => ({
    kind,
    outcome: "ok",
    address,
    agent: agentFamily(request.headers.get("user-agent")),
  });
  const ofCaller = ({ clientId, subject, grantId }: Caller) => ({ client: clientId, person: subject, grant: grantId });
  const noteReported = (base: NewStep, reported: ReportedStep): void => {
    const isGood = base.kind === "sign_in" ? reported.outcome !== "refused" : goodOutcomes.has(reported.outcome);
    const { client, user, grant, name, redirectHost = null } = reported;
    if (isGood && grant !== undefined) seen.delete(grant);
    note({
      ...base,
      kind: reported.grantType === "refresh_token" ? "refresh" : base.kind,
      outcome: isGood ? "ok" : "refused",
      reason: isGood ? null : cut(reported.reason ?? reported.outcome),
      client: cut(client),
      person: cut(user),
      grant: cut(grant),
      name: shownName(name ?? null),
      host: shownHost(redirectHost),
    });
  };

  return {
    /** Answers a request that is not one to `/mcp`, and notes what became of it, as its endpoint reports to the peer. */
    async around(request: Request, peer: Peer, answer: (peer: Peer) => Response | Promise<Response>) {
      const { method } = request;
      const { pathname, searchParams } = new URL(request.url);
      const kind = kindsOfPath.find(([path]) => path.test(pathname))?.[1] ?? "stray";
      const isAccountPage = kind === "sign_in" && searchParams.has("next"); // a sign-in to the server's own pages
      if (method === "OPTIONS" || method === "HEAD" || isAccountPage || kind === "other") return await answer(peer);
      const isBare = kind === "authorization" && method === "GET" && searchParams.size === 0;
      const base = { ...baseOf(request, peer, kind), ...isBare ? { sign: "no_query" } : {} };
      let isReported = false;
      const onStep = (reported: ReportedStep): void => {
        isReported = true;
        noteReported(base, reported);
      };
      const response = await answer(kind === "stray" ? peer : { address: peer.address, onStep });
      const { status } = response;
      const isDocument = kind === "resource_metadata" || kind === "server_metadata";
      const about = isDocument || kind === "stray" ? { ...cameBy(request, server), path: shownPath(pathname) } : {};
      const isRefused = kind === "stray" ? isLost(request, pathname, status) : status >= 400 && !isReported;
      if (isRefused) {
        const reason = status < 400 ? "page_for_people" : `status_${status}`;
        note({ ...base, ...about, outcome: "refused", reason });
      } else if (isDocument && status === 200) {
        note({ ...base, ...about, ...kind === "server_metadata" && !isOpen ? { sign: "registration_closed" } : {} });
      }
      return response;
    },
    /** A request that no endpoint sees: its Host, Origin or target is wrong. */
    noteForeign(request: Request, peer: Peer, reason: "unknown_host" | "unknown_origin" | "malformed_address"): void {
      const path = shownPath(URL.parse(request.url)?.pathname ?? "");
      const host = shownHost(requestHost(request));
      note({ ...baseOf(request, peer, "stray"), outcome: "refused", reason, host, path });
    },
    /** A request to `/mcp` without a good token. */
    noteStranger(
      request: Request,
      peer: Peer,
      { status, reason }: { readonly status: number; readonly reason: string | null },
    ): void {
      const refuse = (kind: StepKind, why: string, more: Partial<NewStep> | null = cameBy(request, server)): void =>
        note({ ...baseOf(request, peer, kind), outcome: "refused", reason: why, ...more });
      if (status === 200) return note({ ...baseOf(request, peer, "handshake"), ...cameBy(request, server) });
      const isForeignKey = reason === "not_an_operator_token"; // of another server
      if (reason !== null && !isForeignKey) {
        return refuse("refused_token", reason, foreignToken(request, reason, server));
      }
      if (status !== 401) return refuse("reached", `status_${status}`);
      const { headers, url, method } = request;
      const { searchParams } = new URL(url);
      if ([...searchParams.keys()].some((name) => keyParameter.test(name))) {
        return refuse("reached", "token_in_url", null);
      }
      if (keyHeaders.some((name) => headers.has(name))) return refuse("reached", "other_scheme");
      const path = wasPost(request) ? postBecameGet : method === "GET" ? "GET" : null;
      note({ ...baseOf(request, peer, "reached"), ...cameBy(request, server), path });
    },
    /** A request with a good token that was refused as a whole. */
    noteRefused(caller: Caller, { method, headers }: Pick<Request, "method" | "headers">, status: number): void {
      if (method === "DELETE" || method === "HEAD" || method === "OPTIONS") return; // no call, and none that a client needs
      const isStream = method === "GET" && status === 405;
      const reason = isStream && wasPost({ method, headers })
        ? postBecameGet
        : status === 405 && !isStream
        ? "wrong_method"
        : status === 415 && headers.has("content-encoding")
        ? "encoded_body"
        : `status_${status}`;
      note({ kind: isStream ? "stream" : "call", outcome: "refused", reason, ...ofCaller(caller) });
    },
    /** A session's stream was opened. What it returns is called at its end: whether we ended it, or the caller left. */
    noteStream(caller: Caller): (isWhole: boolean) => void {
      note({ kind: "stream", outcome: "ok", ...ofCaller(caller) });
      const openedAt = elapsed();
      return (isWhole) => {
        if (isWhole || elapsed() - openedAt >= usefulStreamMs) return void givenUp.delete(caller.grantId);
        const times = (givenUp.get(caller.grantId) ?? 0) + 1;
        givenUp.set(caller.grantId, times);
        if (times < maxStreamsGivenUp) return;
        note({ kind: "stream", outcome: "refused", reason: "given_up", ...ofCaller(caller) });
      };
    },
    /** A slow answer ended: whether its caller was there to the last. */
    noteAnswer(caller: Caller, isWhole: boolean): void {
      const before = cutAnswers.get(caller.grantId) ?? 0;
      if (!isWhole) {
        cutAnswers.set(caller.grantId, before + 1);
        if (before + 1 < maxCutAnswers) return;
        return note({ kind: "call", outcome: "refused", reason: "answers_cut", ...ofCaller(caller) });
      }
      if (before === 0) return;
      cutAnswers.delete(caller.grantId);
      if (before >= maxCutAnswers) note({ kind: "call", outcome: "ok", reason: "answered", ...ofCaller(caller) });
    },
    /** Called for every call. */
    noteCall({ subject, clientId, grantId, method, outcome, code }: SeenCall): void {
      if (grantId === null || clientId === null) return;
      const known = seen.get(grantId) ?? 0;
      if (known === allMethods) return;
      const bit = methodBits.get(method) ?? 0;
      const isUnready = outcome === "tool_error" && unreadyCodes.has(code);
      const isGood = !isUnready && (outcome === "ok" || outcome === "tool_error");
      if (!isGood && known !== 0 && method !== "tools/call") return; // it is connected: what fails now is in the audit
      if (isGood && (bit === 0 || (known & bit) !== 0)) return;
      if (isGood) seen.set(grantId, known | bit);
      const result = isGood
        ? { outcome: "ok", reason: method } as const
        : { outcome: "refused", reason: isUnready ? cut(code) : outcome, path: cut(method) } as const;
      note({ kind: "call", ...result, client: clientId, person: subject, grant: grantId });
    },
    /** What a client calls itself at `initialize`. */
    noteName(caller: Caller, name: string | null): void {
      givenUp.delete(caller.grantId);
      note({ kind: "call", outcome: "ok", reason: "initialize", ...ofCaller(caller), name: shownName(name) });
    },
    /** Resolves once every step has gone to `note`: one for which the storage was not available waits for a look at it. */
    allNoted: (): Promise<void> => lastLook,
  };
}

const maxTextCharacters = 200;

function cut(text: string | null | undefined): string | null {
  return text?.slice(0, maxTextCharacters) ?? null;
}
