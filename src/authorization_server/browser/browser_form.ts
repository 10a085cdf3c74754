/** What every form endpoint checks before it believes that a form comes from one of our own pages. */
import { failure, type Result, success } from "../../lib/result.ts";
import type { Limits } from "../context.ts";
import type { DeadEnd } from "../pages/error_page.ts";
import { readForm } from "../request_body.ts";

/** Reads a posted form. Browsers say where a form came from: another site's is refused unread. */
export async function readBrowserForm(request: Request, limits?: Limits): Promise<Result<URLSearchParams, DeadEnd>> {
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") {
    await request.body?.cancel();
    return failure("foreign_form");
  }
  const form = await readForm(request, limits);
  return form.ok ? success(form.value) : failure("malformed_request");
}
