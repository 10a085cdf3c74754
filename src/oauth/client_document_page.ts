/** The page for a client ID that is a URL, where the metadata published there cannot be used. */
import type { ClientDocumentProblem } from "./client_metadata_document.ts";
import type { DocumentProblem } from "./public_document.ts";
import { messagePage } from "./message_page.ts";

// One text for every network failure: told apart, a refused private address and a closed port would let a stranger map
// this server's network (SSRF as an oracle). The log has the difference.
const unreachable = {
  title: "This application could not be looked up",
  problem: "Its client ID is a URL, and we could not fetch the metadata published there.",
  advice:
    "Try again in a minute. If the problem persists, tell the operator of this server: the log gives the reason. A server without internet access can let applications register instead.",
};
const unusable = (problem: string) => ({
  title: "This application's metadata cannot be used",
  problem: `Its client ID is a URL, and the metadata published there breaks a rule: ${problem}`,
  advice: "Only the publisher of the application can correct this. Send them this message.",
});
const notADocument = unusable("it must be a small JSON document, served with status 200 and a JSON media type.");

const texts = {
  unresolvable_host: unreachable,
  forbidden_address: unreachable,
  connection_failed: unreachable,
  timed_out: unreachable,
  too_many_fetches: unreachable,
  forbidden_url: unreachable,
  // From here on the address is public and its certificate valid: the details are public anyway.
  malformed_response: notADocument,
  response_too_large: notADocument,
  host_unavailable: notADocument,
  unexpected_status: notADocument,
  unexpected_content_type: notADocument,
  not_json: notADocument,
  malformed_document: unusable(
    "it needs client_id, client_name and redirect_uris, and every member must have the right type.",
  ),
  client_id_mismatch: unusable("its client_id must be exactly the URL where it is published."),
  secret_in_document: unusable("a public document must not hold a client_secret."),
  unsupported_document_authentication: unusable("token_endpoint_auth_method must be none or private_key_jwt."),
  unsupported_document_grant: unusable("it must allow the grant type authorization_code and the response type code."),
  unusable_redirect_uri: unusable(
    "at least one of its redirect_uris must be https, or http on 127.0.0.1, [::1] or localhost, and none may have a fragment, credentials or a scheme that browsers execute.",
  ),
  unusable_keys: unusable(
    "jwks may contain only public keys; private_key_jwt needs either jwks or an https jwks_uri.",
  ),
} as const satisfies Record<ClientDocumentProblem | DocumentProblem, typeof unreachable>;

/** The page of a problem. */
export function clientDocumentPage(reason: keyof typeof texts): Response {
  const { title, problem, advice } = texts[reason];
  return messagePage({ status: 400, title, paragraphs: [problem, advice] });
}
