/** The stand-in instance with the data of a service desk, asked by bare requests. */
import assert from "node:assert/strict";
import { type StandInInstance, type StandInOptions, startServicenow } from "../../fixtures/servicenow/instance.ts";

/** A request to the instance; `query` goes into the address. */
export interface Ask {
  readonly method?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON, unless it is text or bytes. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer, its body parsed where it is JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** The instance and its people. */
export interface Desk extends AsyncDisposable {
  readonly instance: StandInInstance;
  /** Asks as a user; below `/api/now/table/` unless the path begins with a slash. */
  ask(userName: string, path: string, ask?: Ask): Promise<Answer>;
  /** The records that a query finds, as that user sees them. */
  find(userName: string, table: string, query: string, fields?: string): Promise<Record<string, string>[]>;
  /** A token of a user. */
  token(userName: string): Promise<string>;
}

const redirectUri = "http://127.0.0.1:9/callback";

/** Starts one. */
export async function openDesk(options: Partial<StandInOptions> = {}): Promise<Desk> {
  const clock = () => Date.parse("2026-05-28T12:00:00Z");
  const instance = await startServicenow({ redirectUri, clock, data: "desk", ...options });
  const tokens = new Map<string, string>();
  const { clientId, clientSecret } = instance.client;
  const signIn = async (userName: string): Promise<string> => {
    const parameters = { response_type: "code", client_id: clientId, redirect_uri: redirectUri, state: "s" };
    const callback = await instance.approve(
      `${instance.origin}/oauth_auth.do?${new URLSearchParams(parameters)}`,
      userName,
    );
    const answered = await fetch(`${instance.origin}/oauth_token.do`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "authorization_code",
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uri: redirectUri,
        code: new URL(callback).searchParams.get("code") ?? "",
      }),
    });
    return (await answered.json()).access_token;
  };
  const token = async (userName: string): Promise<string> => {
    const known = tokens.get(userName) ?? await signIn(userName);
    tokens.set(userName, known);
    return known;
  };
  const ask: Desk["ask"] = async (userName, path, { method = "GET", query = {}, body, headers = {} } = {}) => {
    const url = new URL(path.startsWith("/") ? path : `/api/now/table/${path}`, instance.origin);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const isRaw = typeof body === "string" || body instanceof Uint8Array;
    const response = await fetch(url, {
      method,
      headers: {
        accept: "application/json",
        authorization: `Bearer ${await token(userName)}`,
        ...(body === undefined || isRaw ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isRaw ? body as BodyInit : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };
  return {
    instance,
    ask,
    token,
    async find(userName, table, query, fields = "") {
      const parameters = { sysparm_query: query, sysparm_exclude_reference_link: "true" };
      const { status, body } = await ask(userName, table, { query: { ...parameters, sysparm_fields: fields } });
      assert.equal(status, 200, JSON.stringify(body));
      return body.result;
    },
    [Symbol.asyncDispose]: () => instance[Symbol.asyncDispose](),
  };
}

/** The error of an answer. */
export function errorOf({ status, body }: Answer): string {
  assert.equal(body.status, "failure");
  return `${status} ${body.error.message}: ${body.error.detail}`;
}
