/** Causes of attempts that end at the registration, or right after it. */
import type { Cause } from "./cause.ts";

export const registrationCauses: readonly Cause[] = [
  {
    id: "registration_off",
    at: "registration",
    reasons: ["registration_off"],
    words: "The client tried to register, and REGISTRATION is off.",
    remedy:
      "Make it by hand with `portcullis clients create` and enter its id in the client, or set REGISTRATION=open.",
  },
  {
    id: "registration_token",
    at: "registration",
    reasons: ["wrong_registration_token"],
    words: "The client tried to register without the registration token, or with a wrong one.",
    remedy:
      "Give it DCR_AUTH_TOKEN, make it by hand with `portcullis clients create`, or set REGISTRATION=open for clients that register by themselves.",
  },
  {
    id: "redirect_forbidden",
    at: "registration",
    reasons: ["forbidden_redirect_uri", "missing_redirect_uris", "too_many_redirect_uris"],
    words: "None of the addresses that the client wants to be sent back to is allowed here.",
    remedy:
      "The address must be https, or http on the client's own machine. Update the client, or correct its redirect URI.",
  },
  {
    id: "too_many_clients",
    at: "registration",
    reasons: ["too_many_unused_clients"],
    words: "Too many clients registered without being used.",
    remedy: "Wait ten minutes. A client that registers again and again needs an update.",
  },
  {
    id: "metadata_refused",
    at: "registration",
    reasons: ["*"],
    words: "The client described itself in a way that the server cannot accept.",
    remedy: "Update the client, or make it by hand with `portcullis clients create` and enter its id.",
  },
  {
    id: "pop_up_blocked",
    at: "registration",
    words:
      "The client registered, and no one has opened its sign-in page: a pop-up was blocked, there is no browser, or it waits for you.",
    remedy: "Open the address that the client shows in a browser, and allow pop-ups for the client.",
  },
  {
    id: "authorize_path_blocked",
    at: "registration",
    words: "Or a firewall or proxy keeps the person's browser from /oauth/authorize.",
    remedy: "Open the address that the client shows, and let the proxy pass /oauth/.",
    needsProxy: true,
  },
  {
    id: "registration_answer_refused",
    at: "registration",
    words: "Or the client did not understand the answer to its registration.",
    remedy: "Update the client, or make it by hand with `portcullis clients create` and enter its id.",
  },
];
