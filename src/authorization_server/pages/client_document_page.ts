/** The page for an application that names itself by a web address, where its description there is of no use. */
import type { ClientDocumentProblem } from "../clients/client_metadata_document.ts";
import type { DocumentProblem } from "../documents/public_document.ts";
import { messagePage } from "./message_page.ts";

// One text for whatever the network did: told apart, a refused private address and a closed port would let a stranger
// map the network that this server stands in (SSRF as an oracle). The log has the difference.
const unreachable = {
  title: "This application could not be looked up",
  problem: "It names itself by a web address, and its description could not be fetched from there.",
  advice:
    "Try again in a minute. If it keeps failing, tell the operator of this server: the log says why. A server that cannot reach the internet can let applications register instead.",
};
const unusable = (problem: string) => ({
  title: "This application's description cannot be used",
  problem: `It names itself by a web address, and the description published there breaks a rule: ${problem}`,
  advice: "Only the publisher of the application can correct that. Send them this message.",
});
const notADocument = unusable("it has to be a small JSON document, answered with status 200 and a JSON media type.");

const texts = {
  unresolvable_host: unreachable,
  forbidden_address: unreachable,
  connection_failed: unreachable,
  timed_out: unreachable,
  too_many_fetches: unreachable,
  forbidden_url: unreachable,
  // From here on the address is public and its certificate valid: what is said was published to everybody.
  malformed_response: notADocument,
  response_too_large: notADocument,
  host_unavailable: notADocument,
  unexpected_status: notADocument,
  unexpected_content_type: notADocument,
  not_json: notADocument,
  malformed_document: unusable(
    "it needs client_id, client_name and redirect_uris, and its other members must be of their types.",
  ),
  client_id_mismatch: unusable("its client_id has to be the very address that it is published at."),
  secret_in_document: unusable("a public document must not hold a client_secret."),
  unsupported_document_authentication: unusable("token_endpoint_auth_method has to be none or private_key_jwt."),
  unsupported_document_grant: unusable("it has to allow the grant authorization_code and the response type code."),
  unusable_redirect_uri: unusable(
    "at least one of its redirect_uris has to be https, or http on 127.0.0.1, [::1] or localhost, and none may have a fragment, credentials or a scheme that browsers act on.",
  ),
  unusable_keys: unusable(
    "jwks may hold public keys only, and private_key_jwt needs them, or an https jwks_uri, not both.",
  ),
} as const satisfies Record<ClientDocumentProblem | DocumentProblem, typeof unreachable>;

/** The page of a problem. */
export function clientDocumentPage(reason: keyof typeof texts): Response {
  const { title, problem, advice } = texts[reason];
  return messagePage({ status: 400, title, paragraphs: [problem, advice] });
}
