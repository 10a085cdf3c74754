/** What can go wrong between this server and an instance, and the words for the agent and its user. */

/** Why an instance gave no proper answer. */
export type UnavailableCause =
  | "unreachable"
  | "timed_out"
  | "broken_off"
  /** A web page or a redirect where the API should be: a hibernating instance, or a gateway that requires sign-in. */
  | "not_an_api"
  | "server_error"
  | "bad_reply"
  /** The instance does not accept this server's own client id and secret. */
  | "client_refused";

/** A call that did not succeed. */
export type ServicenowFailure =
  | { readonly reason: "invalid_record_id"; readonly expected: string }
  /** Something else of the caller's input; `message` says what. */
  | { readonly reason: "invalid_input"; readonly message: string }
  | { readonly reason: "not_linked" }
  | { readonly reason: "link_expired" }
  | { readonly reason: "forbidden" }
  | { readonly reason: "not_found" }
  | { readonly reason: "rate_limited"; readonly by: "servicenow" | "portcullis"; readonly retryAfterSeconds: number }
  /** `uncertain`: the request was a change, and may have taken effect. */
  | { readonly reason: "unavailable"; readonly because: UnavailableCause; readonly uncertain?: boolean }
  /** The instance understood the request and refuses it. */
  | { readonly reason: "rejected"; readonly message: string }
  | { readonly reason: "too_large"; readonly limitBytes: number }
  | { readonly reason: "cancelled" };

/** A failure in words. `error` is one of the documented messages, `detail` says what to do. */
export interface FailureWords {
  readonly error: string;
  readonly detail: string;
}

/** Puts a failure into words; `linkUrl` is the page where a person links an account of the instance. */
export function describeFailure(failure: ServicenowFailure, linkUrl: string): FailureWords {
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
      return {
        error: "Insufficient permissions",
        detail: "The user's own ServiceNow rights do not allow this. Retrying does not help.",
      };
    case "not_found":
      return {
        error: "Record not found",
        detail: "There is no such record, or the user's own ServiceNow rights do not show it.",
      };
    case "rate_limited":
      return {
        error: failure.by === "servicenow" ? "Rate limited by ServiceNow" : "Too many ServiceNow calls",
        detail: `Try again in ${failure.retryAfterSeconds} seconds.`,
      };
    case "unavailable":
      return { error: "ServiceNow unavailable", detail: unavailableWords(failure.because, failure.uncertain ?? false) };
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

function unavailableWords(cause: UnavailableCause, uncertain: boolean): string {
  const words = causeWords(cause);
  return uncertain
    ? `${words} It is not known whether the change was saved: read the record before trying again.`
    : words;
}

function causeWords(cause: UnavailableCause): string {
  switch (cause) {
    case "unreachable":
      return "The instance cannot be reached. Try again later.";
    case "timed_out":
      return "The instance did not answer in time. Try again later.";
    case "broken_off":
      return "The connection broke in the middle of the answer. Try again.";
    case "not_an_api":
      return "The instance answered with a web page: it is hibernating, or a gateway in front of it requires sign-in. " +
        "Ask the user to open the instance in a browser, then try again.";
    case "server_error":
      return "The instance reported an internal error. Try again later.";
    case "bad_reply":
      return "The instance's answer could not be understood. Try again later.";
    case "client_refused":
      return "The instance does not accept this server's client id and secret. Tell the operator of this server to " +
        "check SERVICENOW_CLIENT_ID and SERVICENOW_CLIENT_SECRET.";
  }
}
