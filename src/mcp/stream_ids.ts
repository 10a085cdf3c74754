/** MACed ids, each for one session: any instance can reject a forged id without touching the storage. */
import * as z from "zod";
import { equalInConstantTime, randomText } from "../lib/random_secret.ts";
import { parseJson } from "../lib/json.ts";
import type { SecretBox } from "../lib/secrets.ts";
import type { RpcId } from "./jsonrpc.ts";
import type { Session } from "./session.ts";

interface IssuedIds {
  /** A new id for a session. */
  issue(owner: string): string;
  /** Whether the id was issued for this session, by any instance. */
  isIssued(id: string, owner: string): boolean;
}

const randomLength = 12;
const markLength = 16;
const issuedIdLength: number = randomLength + markLength;

/** Ids of one purpose; those of another are none here. */
export function createIssuedIds(secretBox: Pick<SecretBox, "authenticate">, purpose: string): IssuedIds {
  const markOf = (random: string, owner: string): string =>
    secretBox.authenticate(purpose, `${random} ${owner}`).slice(0, markLength);
  return {
    issue(owner) {
      const random = randomText(randomLength * 3 / 4);
      return random + markOf(random, owner);
    },
    isIssued(id, owner) {
      return equalInConstantTime(id.slice(randomLength), markOf(id.slice(0, randomLength), owner));
    },
  };
}

// * Ids of streams. A stream is resumed at the instance that holds it. The id of an answer names its instance and its
// request, so that any other instance can end that request with an error at once.

/** What a stream carries: a call's messages up to its response, or a session's notices, which any instance can send. */
export type StreamContent = "answer" | "notices";

/** Where a client left off. */
export interface StreamPosition {
  readonly resumeId: string;
  /** The number of the last frame that it has. */
  readonly after: number;
}

export interface StreamIds {
  /** An id for a stream of the session; that of an answer says which request it answers. */
  issue(session: Session, content: StreamContent, requestId?: RpcId): string;
  /** The request whose answer the stream with this id has; `null` where the id does not say, or is of this instance. */
  requestElsewhere(resumeId: string): RpcId | null;
  /** What the stream with this id carries, if it is one of this session's, on any instance. */
  contentOf(session: Session, resumeId: string): StreamContent | null;
}

/** The instance and the request are part of each event id of an answer; where they are longer, they are left out. */
const maxToldCharacters = 80;
const toldShape = z.lazy(() => z.tuple([z.string(), z.union([z.string(), z.number()])]));

export function createStreamIds(secretBox: SecretBox): StreamIds {
  const ids = {
    answer: createIssuedIds(secretBox, "mcp-answer-stream"),
    notices: createIssuedIds(secretBox, "mcp-notice-stream"),
  };
  const instance = randomText(6);
  return {
    issue({ key }, content, requestId) {
      const text = requestId === undefined ? "" : JSON.stringify([instance, requestId]);
      const told = text.length > maxToldCharacters ? "" : Buffer.from(text).toString("base64url");
      return ids[content].issue(key) + told;
    },
    requestElsewhere(resumeId) {
      const text = Buffer.from(resumeId.slice(issuedIdLength), "base64url").toString();
      const told = toldShape.safeParse(parseJson(text)).data;
      return told === undefined || told[0] === instance ? null : told[1];
    },
    contentOf({ key }, resumeId) {
      if (ids.answer.isIssued(resumeId.slice(0, issuedIdLength), key)) return "answer";
      return ids.notices.isIssued(resumeId, key) ? "notices" : null;
    },
  };
}
