/** What an answer of the instance means: statuses and error envelopes become failures, bodies become typed values. */
import * as z from "zod";
import type { Clock } from "../lib/clock.ts";
import { isObject, parseJson } from "../lib/json.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { ServicenowFailure } from "./failure.ts";
import { retryAfterSeconds, type UpstreamReply, type UpstreamRequest } from "./transport.ts";

/** A failure, or the instance's word that the access token is not good (any more). */
export type UpstreamFailure = ServicenowFailure | { readonly reason: "unauthorized" };

/** The JSON of one answer. */
export const maxReplyBytes = 1_048_576;
const defaultRetryAfterSeconds = 60;
const maxQuotedCharacters = 500;

const errorEnvelope = z.object({
  error: z.object({ message: z.string().nullish(), detail: z.string().nullish() }),
  status: z.literal("failure"),
});

/** The reply itself when its status is a success, the failure that its status stands for otherwise. */
export function checkStatus(
  reply: UpstreamReply,
  request: UpstreamRequest,
  clock: Clock,
): Result<UpstreamReply, UpstreamFailure> {
  const { status } = reply;
  if (status >= 200 && status < 300) return success(reply);
  if (status === request.notFoundStatus) return failure({ reason: "not_found" });
  switch (status) {
    case 401:
      return failure({ reason: "unauthorized" });
    case 403:
      return failure({ reason: "forbidden", ...(request.method === "GET" ? {} : { said: quoteError(reply) }) });
    case 404:
      return failure({ reason: "not_found" });
    case 429:
      return failure({
        reason: "rate_limited",
        by: "servicenow",
        retryAfterSeconds: retryAfterSeconds(reply.headers, clock) ?? defaultRetryAfterSeconds,
      });
    default:
      return status >= 500
        ? failure({
          reason: "unavailable",
          because: "server_error",
          ...(request.method === "GET" ? {} : { uncertain: true }),
        })
        : failure({ reason: "rejected", message: quoteError(reply) });
  }
}

export function parseResult<Schema extends z.ZodType>(
  reply: UpstreamReply,
  schema: Schema,
): Result<z.output<Schema>, ServicenowFailure> {
  const body = parseJsonBytes(reply.bytes);
  const envelope = isObject(body) ? body : {};
  // A query that runs too long is answered with 200, the records found so far, and an error.
  if ("error" in envelope && errorEnvelope.safeParse(body).success) {
    return failure({ reason: "unavailable", because: "server_error" });
  }
  const parsed = schema.safeParse(envelope["result"]);
  return parsed.success ? success(parsed.data) : failure({ reason: "unavailable", because: "bad_reply" });
}

/** The bytes as JSON; `undefined` when they are none. */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  return parseJson(new TextDecoder().decode(bytes));
}

/** The instance's own words, on one line and not long. They speak of tables and fields, of nothing inside this server. */
function quoteError(reply: UpstreamReply): string {
  const parsed = errorEnvelope.safeParse(parseJsonBytes(reply.bytes));
  if (!parsed.success) return `ServiceNow answered with status ${reply.status}.`;
  const { message, detail } = parsed.data.error;
  const words = [message, detail].filter((text) => text).join(": ").replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ")
    .trim();
  if (words === "") return `ServiceNow answered with status ${reply.status}.`;
  return words.length > maxQuotedCharacters ? `${words.slice(0, maxQuotedCharacters)}…` : words;
}
