/** Whether the ServiceNow instance is there, awake, and knows this server's client, as far as that can be asked. */
import type { Config } from "../../config/config.ts";
import { createInstanceTokenEndpoint } from "../../servicenow/token_endpoint.ts";
import { createFetchOnce } from "../../servicenow/fetch_once.ts";
import { createTransport, requestTimeoutMs } from "../../servicenow/transport.ts";
import { faultWords } from "../../lib/system_fault.ts";
import type { Check } from "./check.ts";

const name = "ServiceNow";
/** No instance gives such a token: what it answers tells what it thinks of the client. */
const noToken = "portcullis-doctor";

/** Nothing where none is configured. */
export async function* examineServicenow(
  { access, missing }: Config["servicenow"],
  { resolve, serverUrl }: { readonly resolve: (host: string) => Promise<unknown>; readonly serverUrl: string },
): AsyncGenerator<Check> {
  if (missing.length > 0) {
    yield {
      name,
      state: "warning",
      text: `SERVICENOW_INSTANCE alone offers no tools: ${missing.join(" and ")} are missing`,
      remedy: "set them, from an OAuth client of the instance (docs/servicenow.md)",
    };
  }
  if (access === undefined) return;
  const { instance, clientId, clientSecret } = access;
  const host = new URL(instance).hostname.replace(/^\[|\]$/g, "");
  const unknown = await resolve(host).then(() => null, (error: unknown) => faultWords(error));
  if (unknown !== null) {
    const text = `${host} cannot be looked up: ${unknown}`;
    yield { name, state: "warning", text, remedy: "correct SERVICENOW_INSTANCE, or the machine's DNS" };
    return;
  }
  const once = createFetchOnce(fetch);
  try {
    const transport = createTransport({ instance: { origin: instance }, fetch, fetchOnce: once.fetch });
    const client = { clientId, clientSecret, redirectUri: `${serverUrl}/servicenow/callback` };
    const answer = await createInstanceTokenEndpoint({ transport, client }).refresh(noToken);
    const because = answer.ok || answer.error.reason === "refused" ? "answers" : answer.error.because;
    yield { name, ...verdicts[because](instance) };
  } finally {
    once.close();
  }
}

type Verdict = (instance: string) => Omit<Check, "name">;

function warning(what: string, remedy: string): Verdict {
  return (instance) => ({ state: "warning", text: `${instance} ${what}`, remedy });
}

const notAnApi = warning(
  "answers with a web page: a sleeping instance does, and so does a gateway that wants a sign-in",
  "wake it at developer.servicenow.com, or let the gateway pass /oauth_token.do and /api",
);

const verdicts: Readonly<
  Record<
    | "answers"
    | "unreachable"
    | "timed_out"
    | "broken_off"
    | "not_an_api"
    | "server_error"
    | "bad_reply"
    | "client_refused",
    Verdict
  >
> = {
  answers: (instance) => ({
    state: "well",
    text: `${instance} answers, and does not refuse the client (only a sign-in proves the secret)`,
  }),
  unreachable: warning(
    "cannot be reached: nothing listens, or its certificate is not trusted here",
    "open its address in a browser on this machine; correct SERVICENOW_INSTANCE or the network",
  ),
  timed_out: warning(
    `does not answer within ${requestTimeoutMs / 1_000} s`,
    "see whether it is up, and whether a firewall is between",
  ),
  broken_off: warning("broke off its answer", "run doctor again"),
  not_an_api: notAnApi,
  server_error: warning("answers with an error of its own", "see the instance's status, then run doctor again"),
  bad_reply: warning(
    "gives an answer that is not OAuth's",
    "correct SERVICENOW_INSTANCE: it names the instance itself",
  ),
  client_refused: warning(
    "refuses the client",
    "compare SERVICENOW_CLIENT_ID and SERVICENOW_CLIENT_SECRET with the application registry of the instance",
  ),
};
