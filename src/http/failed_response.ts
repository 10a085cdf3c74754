/** The answer to a request that an endpoint could not answer: the database is lost for now, or we have a bug. */
import { html } from "../lib/html.ts";
import { type Unavailability, unavailability } from "../lib/storage_unavailable.ts";
import type { Log } from "../lib/log.ts";
import { pageResponse } from "../lib/page.ts";

/** Which kind of answer the caller reads. */
type ReaderKind = "program" | "person";

/** 503 with Retry-After while the database is lost or the machine lacks something; else 500. */
export function toFailedResponse(error: unknown, reader: ReaderKind, log: Log): Response {
  const unavailable = unavailability(error);
  if (unavailable?.cause !== "storage_unavailable") {
    log.write("error", "request_failed", {
      error: error instanceof Error ? error.stack ?? error.message : String(error),
    });
  }
  if (unavailable !== null) {
    return reader === "person" ? unavailablePage(unavailable) : Response.json(
      { error: "temporarily_unavailable", error_description: unavailable.text },
      { status: 503, headers: { "retry-after": String(unavailable.retryAfterSeconds), "cache-control": "no-store" } },
    );
  }
  return reader === "person" ? brokenPage() : Response.json({ error: "server_error" }, { status: 500 });
}

function unavailablePage({ cause, text, retryAfterSeconds }: Unavailability): Response {
  const title = "This server cannot answer right now";
  return pageResponse({
    title,
    status: 503,
    retryAfterSeconds,
    body: html`
      <h1>${title}</h1>
      <p>${cause === "storage_unavailable" ? "Its database is not available. Nothing was changed." : `${text}.`}</p>
      <p>Wait a moment, then go back and try again. If this page stays, tell the person who runs the server: its log says
        what is wrong.</p>
    `,
  });
}

function brokenPage(): Response {
  const title = "Something went wrong";
  return pageResponse({
    title,
    status: 500,
    body: html`
      <h1>${title}</h1>
      <p>The fault is on this server, and its log has the details. Start again from the application.</p>
    `,
  });
}
