/** The answer to a request that an endpoint could not answer: the database is lost for now, or we have a bug. */
import { html } from "../lib/page/html.ts";
import type { Log } from "../lib/log/log.ts";
import { pageResponse } from "../lib/page/page.ts";
import { StorageUnavailableError, unavailableText } from "../lib/storage_unavailable.ts";

/** Which kind of answer the caller reads. */
type ReaderKind = "program" | "person";

/** 503 with Retry-After while the database is lost, as the guard of the storage has logged; else 500 and a log line. */
export function toFailedResponse(error: unknown, reader: ReaderKind, log: Log): Response {
  if (error instanceof StorageUnavailableError) {
    return reader === "person" ? unavailablePage(error) : Response.json(
      { error: "temporarily_unavailable", error_description: unavailableText(error) },
      { status: 503, headers: { "retry-after": String(error.retryAfterSeconds), "cache-control": "no-store" } },
    );
  }
  log.write("error", "request_failed", {
    error: error instanceof Error ? error.stack ?? error.message : String(error),
  });
  return reader === "person" ? brokenPage() : Response.json({ error: "server_error" }, { status: 500 });
}

function unavailablePage({ retryAfterSeconds }: StorageUnavailableError): Response {
  const title = "This server cannot answer right now";
  return pageResponse({
    title,
    status: 503,
    retryAfterSeconds,
    body: html`
      <h1>${title}</h1>
      <p>Its database is not available. Nothing was changed.</p>
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
