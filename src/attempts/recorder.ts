/**
 * Notes each step of connecting clients: from requests, and from what the log says of them while they are answered. A
 * call with a good token costs one look into a map.
 */
import { boundedMap } from "../lib/bounded_map.ts";
import { doctorAgent } from "../lib/doctor_agent.ts";
import type { Peer } from "../lib/endpoint.ts";
import type { LogFields } from "../lib/log/log.ts";
import { requestHost } from "../lib/network/request_host.ts";
import { cameBy, hasKeyHeader, hasKeyInUrl, kindOfPath, type NamedServer } from "./request_signs.ts";
import { agentFamily, shownHost, shownName, shownPath } from "./shown_text.ts";
import type { NewStep, StepKind } from "./step.ts";

export interface AttemptRecorder {
  /** Answers a request that is not one to `/mcp`, and notes what became of it. */
  around(request: Request, peer: Peer, answer: () => Response | Promise<Response>): Promise<Response>;
  /** A request that no endpoint sees: its Host, Origin or target is wrong. */
  noteForeign(request: Request, peer: Peer, reason: "unknown_host" | "unknown_origin" | "malformed_address"): void;
  /** A request to `/mcp` without a good token. */
  noteStranger(request: Request, peer: Peer, answer: { readonly status: number; readonly reason: string | null }): void;
  /** A request with a good token that was refused as a whole. */
  noteRefused(caller: { readonly clientId: string; readonly subject: string }, status: number): void;
  /** Called for every call. */
  noteCall(call: CallSeen): void;
  /** What a client calls itself at `initialize`. */
  noteName(caller: { readonly clientId: string; readonly subject: string }, name: string | null): void;
  /** Called for every line of the log. */
  noteLine(event: string, fields: LogFields | undefined): void;
}

interface CallSeen {
  readonly subject: string | null;
  readonly clientId: string | null;
  readonly grantId: string | null;
  readonly method: string;
  readonly outcome: string;
}

interface RequestInFlight {
  readonly kind: StepKind;
  readonly address: string;
  readonly base: NewStep;
  isNoted: boolean;
}

const unavailable = "status_503";
const ownAgent = agentFamily(doctorAgent);
const maxSeenGrants = 100_000;
const maxInFlight = 1_000;
/** The first of each method of a grant is a step. */
const methodBits: ReadonlyMap<string, number> = new Map([["tools/list", 1], ["tools/call", 2]]);
const allMethods = 3;

const kindOfEvent: ReadonlyMap<string, StepKind> = new Map([
  ["client_registration", "registration"],
  ["authorization", "authorization"],
  ["sign_in", "sign_in"],
  ["servicenow_callback", "sign_in"],
  ["consent", "consent"],
  ["token", "token"],
]);
const goodOutcomes: ReadonlySet<unknown> = new Set(["registered", "asked", "allowed", "issued"]);

export function createAttemptRecorder(
  { note: noteStep, isOpen, isDiskFull, ...server }: NamedServer & {
    readonly note: (step: NewStep) => void;
    /** Whether any client may register by itself. */
    readonly isOpen: boolean;
    /** Asked where the storage was not available. Never rejects. */
    readonly isDiskFull: () => Promise<boolean>;
  },
): AttemptRecorder {
  const seen = boundedMap<string, number>(maxSeenGrants);
  const inFlight = new Set<RequestInFlight>();
  const note = (step: NewStep): void => {
    if (step.agent === ownAgent) return;
    if (step.reason === unavailable) {
      void isDiskFull().then((isFull) => noteStep(isFull ? { ...step, reason: "disk_full" } : step));
    } else noteStep(step);
  };

  const baseOf = (request: Request, { address }: Peer, kind: StepKind): NewStep => ({
    kind,
    outcome: "ok",
    address,
    agent: agentFamily(request.headers.get("user-agent")),
  });

  return {
    async around(request, peer, answer) {
      const { pathname, searchParams } = new URL(request.url);
      const kind = kindOfPath(pathname);
      const isAccountPage = kind === "sign_in" && searchParams.has("next"); // a sign-in to the server's own pages
      if (request.method === "OPTIONS" || request.method === "HEAD" || isAccountPage || kind === "other") {
        return await answer();
      }
      if (kind === "unknown") {
        const response = await answer();
        const isGuess = request.method === "POST" || /\/(sse|mcp|messages?)\/?$/.test(pathname);
        if (isGuess && (response.status === 404 || response.status === 405)) {
          const step = {
            ...baseOf(request, peer, "stray"),
            outcome: "refused",
            reason: `status_${response.status}`,
          } as const;
          note({ ...step, path: shownPath(pathname), ...cameBy(request, server) });
        }
        return response;
      }
      const isBare = kind === "authorization" && request.method === "GET" && searchParams.size === 0;
      const base = { ...baseOf(request, peer, kind), ...isBare ? { sign: "no_query" } : {} };
      const entry: RequestInFlight = { kind, address: peer.address, base, isNoted: false };
      if (inFlight.size < maxInFlight) inFlight.add(entry);
      try {
        const response = await answer();
        const { status } = response;
        const isDocument = kind === "resource_metadata" || kind === "server_metadata";
        const about = isDocument ? { ...cameBy(request, server), path: shownPath(pathname) } : {};
        if (isDocument && status === 200) {
          const isClosed = kind === "server_metadata" && !isOpen;
          note({ ...entry.base, ...about, ...isClosed ? { sign: "registration_closed" } : {} });
        } else if (status >= 400 && !entry.isNoted) {
          note({ ...entry.base, ...about, outcome: "refused", reason: `status_${status}` });
        }
        return response;
      } finally {
        inFlight.delete(entry);
      }
    },
    noteForeign(request, peer, reason) {
      const path = shownPath(URL.parse(request.url)?.pathname ?? "");
      const host = shownHost(requestHost(request));
      note({ ...baseOf(request, peer, "stray"), outcome: "refused", reason, host, path });
    },
    noteStranger(request, peer, { status, reason }) {
      if (status === 200) return note({ ...baseOf(request, peer, "handshake"), ...cameBy(request, server) });
      const isOther = reason === null && (request.headers.has("authorization") || hasKeyHeader(request));
      if (status === 401 && reason === null && hasKeyInUrl(request)) {
        return note({ ...baseOf(request, peer, "reached"), outcome: "refused", reason: "token_in_url" });
      }
      if (status === 401 && reason === null && !isOther) {
        return note({ ...baseOf(request, peer, "reached"), ...cameBy(request, server) });
      }
      const kind = reason === null ? "reached" : "refused_token";
      const why = reason ?? (isOther && status === 401 ? "other_scheme" : `status_${status}`);
      note({ ...baseOf(request, peer, kind), outcome: "refused", reason: why, ...cameBy(request, server) });
    },
    noteRefused({ clientId, subject }, status) {
      note({ kind: "call", outcome: "refused", reason: `status_${status}`, client: clientId, person: subject });
    },
    noteCall({ subject, clientId, grantId, method, outcome }) {
      if (grantId === null || clientId === null) return;
      const known = seen.get(grantId) ?? 0;
      if (known === allMethods) return;
      const bit = methodBits.get(method) ?? 0;
      const isGood = outcome === "ok" || outcome === "tool_error";
      if (!isGood && known !== 0) return; // it is connected: what fails now is in the audit
      if (isGood && (bit === 0 || (known & bit) !== 0)) return;
      if (isGood) seen.set(grantId, known | bit);
      const result = isGood
        ? { outcome: "ok", reason: method } as const
        : { outcome: "refused", reason: outcome } as const;
      note({ kind: "call", ...result, client: clientId, person: subject });
    },
    noteName({ clientId, subject }, name) {
      note({
        kind: "call",
        outcome: "ok",
        reason: "initialize",
        client: clientId,
        person: subject,
        name: shownName(name),
      });
    },
    noteLine(event, fields = {}) {
      const kind = kindOfEvent.get(event);
      const address = textOf(fields["address"]);
      if (kind === undefined || address === null) return;
      let request: RequestInFlight | undefined;
      for (const each of inFlight) {
        if (each.kind === kind && each.address === address && !each.isNoted) {
          request = each;
          break;
        }
      }
      if (request === undefined) return; // a page of its own, or a command
      request.isNoted = true;
      const isGood = kind === "sign_in" ? fields["outcome"] !== "refused" : goodOutcomes.has(fields["outcome"]);
      const isRefresh = kind === "token" && fields["grantType"] !== "authorization_code";
      const grant = textOf(fields["grant"]);
      if (isGood && grant !== null) seen.delete(grant);
      note({
        ...request.base,
        kind: isRefresh ? "refresh" : kind,
        outcome: isGood ? "ok" : "refused",
        // What a request was refused for in particular, where the code is a class.
        reason: isGood ? null : textOf(fields["problem"]) ?? textOf(fields["reason"]) ?? textOf(fields["outcome"]),
        client: textOf(fields["client"]),
        person: textOf(fields["user"]),
        host: kind === "authorization" ? shownHost(textOf(fields["redirectHost"])) : null,
      });
    },
  };
}

const maxTextCharacters = 200;

function textOf(value: LogFields[string]): string | null {
  return typeof value === "string" ? value.slice(0, maxTextCharacters) : null;
}
