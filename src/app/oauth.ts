/** The OAuth part of ServiceNow's client, for `play_connection.ts`. */
import { type AskOptions, askServer, type Finding, isFinding, wrongStatus } from "./request.ts";

/** What ServiceNow reads from the metadata. */
interface Endpoints {
  readonly registration: string;
  readonly authorization: string;
  readonly token: string;
}

/** Reads the metadata (RFC 8414 §3.3: its issuer is the address that was asked). */
export function readEndpoints(body: Readonly<Record<string, unknown>> | null, serverUrl: string): Endpoints | Finding {
  const remedy = "set SERVER_URL to the address that ServiceNow is given";
  if (body === null) return { text: "the metadata is not JSON", remedy };
  if (body["issuer"] !== serverUrl) return { text: `the metadata speaks for ${String(body["issuer"])}`, remedy };
  const urlOf = (name: string): string | null => {
    const url = body[name];
    return typeof url === "string" && url.startsWith(`${serverUrl}/`) ? url : null;
  };
  const registration = urlOf("registration_endpoint");
  const authorization = urlOf("authorization_endpoint");
  const token = urlOf("token_endpoint");
  if (authorization === null || token === null) return { text: "the metadata lacks an endpoint", remedy };
  return registration === null
    ? { text: "registration is off", remedy: "register the client by hand (docs/servicenow.md), or set REGISTRATION" }
    : { registration, authorization, token };
}

interface RegisteredClient {
  readonly id: string;
  readonly secret: string;
}

export interface RegistrationOptions extends AskOptions {
  readonly registrationToken?: string;
  readonly scopes: readonly string[];
}

/** Registers as ServiceNow does: without an authentication method, scopes with commas. */
export async function register(
  options: RegistrationOptions,
  url: string,
  redirectUris: readonly string[],
): Promise<RegisteredClient | Finding> {
  const answer = await askServer(options, url, {
    ...(options.registrationToken === undefined ? {} : { authorization: `Bearer ${options.registrationToken}` }),
    json: {
      client_name: "ServiceNow (connection test)",
      redirect_uris: redirectUris,
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      scope: options.scopes.join(","),
    },
  });
  if (isFinding(answer)) return answer;
  if (answer.status === 401) return { text: "registration is refused", remedy: "give ServiceNow DCR_AUTH_TOKEN" };
  const { client_id: id, client_secret: secret } = answer.body ?? {};
  if (answer.status !== 201 || typeof id !== "string") return wrongStatus(answer.status, 201);
  return typeof secret === "string" ? { id, secret } : { text: "the client got no secret" };
}

/** Asks the token endpoint, with the secret in Basic (RFC 6749 §2.3.1). */
export async function requestTokens(
  options: AskOptions,
  url: string,
  { id, secret }: RegisteredClient,
  form: Readonly<Record<string, string>>,
): Promise<{ readonly access: string; readonly refresh: string } | Finding> {
  const credentials = [id, secret].map(encodeURIComponent).join(":");
  const authorization = `Basic ${Buffer.from(credentials).toString("base64")}`;
  const answer = await askServer(options, url, { authorization, form });
  if (isFinding(answer)) return answer;
  const { access_token: access, refresh_token: refresh } = answer.body ?? {};
  return answer.status === 200 && typeof access === "string" && typeof refresh === "string"
    ? { access, refresh }
    : wrongStatus(answer.status, 200);
}
