/** Failures between this server and an instance, and their messages for the agent and its user. */
import { counted, failure, type Result, success } from "../lib/result.ts";

/** Why an instance gave no proper answer: in words for agents, and for the operator with the remedy. */
export const unavailableCauses = {
  unreachable: {
    forAgents: "The instance cannot be reached, or broke off its answer. Try again later.",
    forOperators: "cannot be reached: nothing listens, or its certificate is not trusted here",
    remedy: "open its address in a browser on this machine; correct SERVICENOW_INSTANCE or the network",
  },
  timed_out: {
    forAgents: "The instance did not answer in time. Try again later.",
    forOperators: "does not answer in time",
    remedy: "check whether it is up, and whether a firewall is in between",
  },
  /** A web page or a redirect where the API should be. */
  not_an_api: {
    forAgents:
      "The instance answered with a web page: it is hibernating, or a gateway in front of it requires sign-in. " +
      "Ask the user to open the instance in a browser, then try again.",
    forOperators: "answers with a web page: it is hibernating, or a gateway in front of it requires sign-in",
    remedy: "wake it at developer.servicenow.com, or let the gateway pass /oauth_token.do and /api",
  },
  server_error: {
    forAgents: "The instance reported an internal error. Try again later.",
    forOperators: "reports an internal error",
    remedy: "see the instance's status, then run doctor again",
  },
  bad_reply: {
    forAgents: "The instance's answer could not be understood. Try again later.",
    forOperators: "does not answer as an OAuth token endpoint",
    remedy: "correct SERVICENOW_INSTANCE: it must name the instance itself",
  },
  client_refused: {
    forAgents: "The instance does not accept this server's client id and secret. Tell the operator of this server to " +
      "check SERVICENOW_CLIENT_ID and SERVICENOW_CLIENT_SECRET.",
    forOperators: "refuses the client",
    remedy: "compare SERVICENOW_CLIENT_ID and SERVICENOW_CLIENT_SECRET with the application registry of the instance",
  },
} as const;

export type UnavailableCause = keyof typeof unavailableCauses;

/** A call that did not succeed. */
export type ServicenowFailure =
  | { readonly reason: "invalid_record_id"; readonly expected: string }
  /** Something else of the caller's input; `message` says what. */
  | { readonly reason: "invalid_input"; readonly message: string }
  | { readonly reason: "not_linked" }
  | { readonly reason: "link_expired" }
  /** `said`: the instance's own words about a change. */
  | { readonly reason: "forbidden"; readonly said?: string }
  | { readonly reason: "not_found" }
  | { readonly reason: "rate_limited"; readonly by: "servicenow" | "portcullis"; readonly retryAfterSeconds: number }
  /** `uncertain`: the request was a change, and may have taken effect. */
  | { readonly reason: "unavailable"; readonly because: UnavailableCause; readonly uncertain?: boolean }
  /** The instance understood the request and refuses it. */
  | { readonly reason: "rejected"; readonly message: string }
  | { readonly reason: "too_large"; readonly limitBytes: number }
  | { readonly reason: "cancelled" };

/** What a request comes to: its value, or why there is none. */
export type Outcome<T> = Result<T, ServicenowFailure>;

/** The same, of one that is under way. */
export type Answer<T> = Promise<Outcome<T>>;

/** Ends a job of a service desk. Thrown only inside of one: `createJobs` makes it a value again. */
export class Refusal extends Error {
  constructor(readonly failure: ServicenowFailure) {
    super(failure.reason);
  }
}

/** A refusal of the caller's own input. */
export function invalidInput(message: string): Refusal {
  return new Refusal({ reason: "invalid_input", message });
}

/** What a step gives, or what it was refused for. */
export async function attempt<T>(step: Promise<T>): Answer<T> {
  try {
    return success(await step);
  } catch (error) {
    if (error instanceof Refusal) return failure(error.failure);
    throw error;
  }
}

/** What a step gives; `otherwise` where the instance keeps that from this person, or has no such table or API. */
export async function ifShown<T, Other>(step: Promise<T>, otherwise: Other): Promise<T | Other> {
  const given = await attempt(step);
  if (given.ok) return given.value;
  if (["forbidden", "not_found", "rejected"].includes(given.error.reason)) return otherwise;
  throw new Refusal(given.error);
}

/**
 * Puts a failure into words: `error` is one of the documented messages, `detail` says what to do. `linkUrl` is the page
 * where a user links an account of the instance.
 */
export function describeFailure(failure: ServicenowFailure, linkUrl: string): Record<"error" | "detail", string> {
  switch (failure.reason) {
    case "invalid_record_id":
      return { error: "Invalid sys_id format", detail: `Use ${failure.expected}.` };
    case "invalid_input":
      return { error: "Invalid request", detail: failure.message };
    case "not_linked":
      return {
        error: "Authentication required",
        detail:
          `No ServiceNow account is linked. Ask the user to open ${linkUrl} and sign in to ServiceNow, then try again.`,
      };
    case "link_expired":
      return {
        error: "Authentication expired",
        detail: `ServiceNow no longer accepts the user's sign-in. Ask the user to open ${linkUrl} and sign in to ` +
          "ServiceNow again, then try again.",
      };
    case "forbidden":
      return failure.said === undefined
        ? {
          error: "Insufficient permissions",
          detail: "The user's own ServiceNow rights do not allow this. Retrying does not help.",
        }
        : { error: "Rejected by ServiceNow", detail: failure.said };
    case "not_found":
      return {
        error: "Record not found",
        detail: "There is no such record, or the user's own ServiceNow rights do not show it.",
      };
    case "rate_limited":
      return {
        error: failure.by === "servicenow" ? "Rate limited by ServiceNow" : "Too many ServiceNow calls",
        detail: `Try again in ${counted(failure.retryAfterSeconds, "second")}.`,
      };
    case "unavailable": {
      const words = unavailableCauses[failure.because].forAgents;
      const doubt = " It is not known whether the change was saved: read the record before trying again.";
      return { error: "ServiceNow unavailable", detail: failure.uncertain === true ? words + doubt : words };
    }
    case "rejected":
      return { error: "Rejected by ServiceNow", detail: failure.message };
    case "too_large":
      return {
        error: "Record too large",
        detail: `The answer exceeds ${failure.limitBytes} bytes. Read fewer fields, or a smaller attachment.`,
      };
    case "cancelled":
      return { error: "Cancelled", detail: "The call was cancelled." };
  }
}

/** What a caller wrote, short enough for a message about it. */
export function excerpt(text: string): string {
  return text.trim().slice(0, 80).toWellFormed();
}
