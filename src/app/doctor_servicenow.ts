/** What `doctor` asks a ServiceNow instance: whether it answers, accepts the client, and knows the redirect address. */
import type { Check } from "../lib/result.ts";
import type { Config } from "./config/config.ts";
import {
  createFetchOnce,
  createInstanceTokenEndpoint,
  createTransport,
  unavailableCauses,
} from "../servicenow/later.ts";
import { formWords } from "./servicenow_registry.ts";
import { checksOf } from "./doctor_places.ts";
import { judgeRedirect } from "./doctor_address.ts";

/** No instance issues such a token: its refusal shows whether it accepts the client. */
const noToken = "portcullis-doctor";

/** Nothing where none is configured. */
export async function* examineServicenow(
  { access, missing }: Config["servicenow"],
  serverUrl: string,
): AsyncGenerator<Check> {
  const { well, warning } = checksOf("ServiceNow");
  if (missing.length > 0) {
    yield warning(
      `SERVICENOW_INSTANCE alone offers no tools: ${missing.join(" and ")} are missing`,
      `set them from an OAuth client of the instance; its form: ${formWords(serverUrl)} (docs/servicenow.md)`,
    );
  }
  if (access === undefined) return;
  const { instance, clientId, clientSecret } = access;
  const redirectUri = `${serverUrl}/servicenow/callback`;
  const once = createFetchOnce(fetch);
  try {
    const transport = createTransport({ instance: { origin: instance }, fetch, fetchOnce: once.fetch });
    const client = { clientId, clientSecret, redirectUri };
    const answer = await createInstanceTokenEndpoint({ transport, client }).refresh(noToken);
    if (!answer.ok && answer.error.reason !== "refused") {
      const { forOperators, remedy } = unavailableCauses[answer.error.because];
      yield warning(`${instance} ${forOperators}`, remedy);
      return;
    }
    yield well(`${instance} answers, and does not refuse the client (only a sign-in proves the secret)`);
    const query = { response_type: "code", client_id: clientId, redirect_uri: redirectUri, state: "doctor" };
    yield await judgeRedirect(`${instance}/oauth_auth.do?${new URLSearchParams(query)}`, {
      name: "ServiceNow redirect address",
      party: "instance",
      redirectUri,
      fetch: once.fetch,
      remedy:
        `at the instance, its form has to say: ${formWords(serverUrl)}. SERVICENOW_CLIENT_ID is that form's id, ` +
        "and SERVER_URL the address that people use",
    });
  } finally {
    once.close();
  }
}
