/** Whether the ServiceNow instance is there, awake, and knows this server's client, as far as that can be asked. */
import type { Config } from "./config/config.ts";
import { createInstanceTokenEndpoint } from "../servicenow/token_endpoint.ts";
import { unavailableCauses } from "../servicenow/failure.ts";
import { createFetchOnce } from "../servicenow/fetch_once.ts";
import { createTransport } from "../servicenow/transport.ts";
import { faultWords } from "../lib/system_fault.ts";
import { formWords } from "./servicenow_registry.ts";
import { type Check, checksOf } from "./check.ts";

const { well, warning } = checksOf("ServiceNow");
/** No instance issues such a token: its refusal shows whether it accepts the client. */
const noToken = "portcullis-doctor";

/** Nothing where none is configured. */
export async function* examineServicenow(
  { access, missing }: Config["servicenow"],
  { resolve, serverUrl }: { readonly resolve: (host: string) => Promise<unknown>; readonly serverUrl: string },
): AsyncGenerator<Check> {
  if (missing.length > 0) {
    yield warning(
      `SERVICENOW_INSTANCE alone offers no tools: ${missing.join(" and ")} are missing`,
      `set them from an OAuth client of the instance; its form: ${formWords(serverUrl)} (docs/servicenow.md)`,
    );
  }
  if (access === undefined) return;
  const { instance, clientId, clientSecret } = access;
  const host = new URL(instance).hostname.replace(/^\[|\]$/g, "");
  const unknown = await resolve(host).then(() => null, (error: unknown) => faultWords(error));
  if (unknown !== null) {
    const text = `${host} cannot be looked up: ${unknown}`;
    yield warning(text, "correct SERVICENOW_INSTANCE, or the machine's DNS");
    return;
  }
  const once = createFetchOnce(fetch);
  try {
    const transport = createTransport({ instance: { origin: instance }, fetch, fetchOnce: once.fetch });
    const client = { clientId, clientSecret, redirectUri: `${serverUrl}/servicenow/callback` };
    const answer = await createInstanceTokenEndpoint({ transport, client }).refresh(noToken);
    if (answer.ok || answer.error.reason === "refused") {
      const text = `${instance} answers, and does not refuse the client (only a sign-in proves the secret)`;
      yield well(text);
    } else {
      const { forOperators, remedy } = unavailableCauses[answer.error.because];
      yield warning(`${instance} ${forOperators}`, remedy);
    }
  } finally {
    once.close();
  }
}
