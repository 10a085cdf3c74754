/** What grows in {@link ./growth_bench.ts}: how so many of it are made, and the requests that ask for each of them. */
import { hashSecret, randomId, randomSecret } from "../src/lib/secrets.ts";
import { type Client, clients, operatorTokens } from "../src/oauth/records.ts";
import { openSqliteStorage } from "../src/storage/sqlite_storage.ts";
import { type Put, storageLimits } from "../src/storage/port.ts";
import type { ServerPlace } from "../tests/fixtures/running_server.ts";
import type { LoadRequest } from "./http_load.ts";
import { requestFor } from "./mcp_request.ts";

/** A running server, and what is needed to fill it. */
export interface Grown {
  readonly place: ServerPlace;
  readonly port: number;
  readonly token: string;
}

/** One kind of thing that there may be one of, or 100,000. */
export interface Subject {
  readonly name: string;
  /** For slices of about 0.1 s. */
  readonly requestsPerSlice: number;
  /** Whether the server keeps something of each that was asked for: then each is, before the others are measured. */
  readonly remembersEach: boolean;
  /** Whether a bare server that reads the same files is asked, too. */
  readonly reads?: true;
  /** Makes so many more, the first of them being the `from`th. Gives the requests that ask for each of them in turn. */
  readonly grow: (server: Grown, from: number, count: number) => Promise<LoadRequest[]>;
}

const day = 86_400_000;
const fetchesAtOnce = 32;

const echo = (token: string): LoadRequest =>
  requestFor({ name: "echo", method: "tools/call", params: { name: "echo", arguments: { text: "hello" } } }, token);

const fileName = (index: number): string => `file-${index}.txt`;
const fileText = (index: number): string => `the text of ${fileName(index)}`;

/** What is measured. */
export const subjects: readonly Subject[] = [
  {
    name: "sessions: a call in each",
    requestsPerSlice: 4_000,
    remembersEach: true,
    async grow({ port, token }, _from, count) {
      const request = echo(token);
      const ids = await inParallel(count, () => openSession(port, request.headers));
      return ids.map((id) => ({ ...request, headers: { ...request.headers, "Mcp-Session-Id": id } }));
    },
  },
  {
    name: "tokens: a call with each",
    requestsPerSlice: 4_000,
    remembersEach: true,
    async grow({ place }, _from, count) {
      const made = Array.from({ length: count }, () => makeToken());
      await store(place, made.map(({ put }) => put));
      return made.map(({ token }) => echo(token));
    },
  },
  {
    name: "clients: a token for each",
    requestsPerSlice: 400,
    remembersEach: false,
    async grow({ place }, _from, count) {
      const made = Array.from({ length: count }, () => makeClient());
      await store(place, made.map(({ put }) => put));
      return made.map(({ id, secret }) => ({
        path: "/oauth/token",
        headers: {
          "Content-Type": "application/x-www-form-urlencoded",
          "Authorization": `Basic ${btoa(`${id}:${secret}`)}`,
        },
        body: "grant_type=client_credentials&scope=files%3Aread",
        check: requireText(200, '"access_token"'),
      }));
    },
  },
  {
    name: "files of a directory: one of them read",
    requestsPerSlice: 4_000,
    remembersEach: false,
    async grow({ place, token }, from, count) {
      await writeFiles(place, from, count);
      return Array<LoadRequest>(count).fill(readOf(token, 0));
    },
  },
  {
    name: "files of a directory: each read",
    requestsPerSlice: 4_000,
    remembersEach: true,
    reads: true,
    async grow({ place, token }, from, count) {
      await writeFiles(place, from, count);
      return Array.from({ length: count }, (_, index) => readOf(token, from + index));
    },
  },
];

async function writeFiles({ workspaceDir }: ServerPlace, from: number, count: number): Promise<void> {
  await Deno.mkdir(`${workspaceDir}/many`, { recursive: true });
  for (let index = from; index < from + count; index++) {
    Deno.writeTextFileSync(`${workspaceDir}/many/${fileName(index)}`, `${fileText(index)}\n`);
  }
}

function readOf(token: string, index: number): LoadRequest {
  const params = { name: "file_read", arguments: { filename: `many/${fileName(index)}` } };
  const request = requestFor({ name: "read", method: "tools/call", params }, token);
  return { ...request, check: requireText(200, fileText(index)) };
}

function requireText(expected: number, text: string): LoadRequest["check"] {
  return (status, body) => {
    if (status !== expected || !body.includes(text)) throw new Error(`wrong answer: ${status} ${body.slice(0, 300)}`);
  };
}

async function openSession(port: number, headers: Readonly<Record<string, string>>): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers,
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } },
    }),
  });
  const text = await response.text();
  const id = response.headers.get("mcp-session-id");
  if (id === null) throw new Error(`no session: ${response.status} ${text.slice(0, 300)}`);
  return id;
}

async function inParallel<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  let started = 0;
  await Promise.all(Array.from({ length: fetchesAtOnce }, async () => {
    while (started++ < count) made.push(await make());
  }));
  return made;
}

/** A token of `token create`, for a year of which a day is left. */
function makeToken(): { readonly token: string; readonly put: Put } {
  const id = randomId();
  const token = `pct_${id}_${randomSecret()}`;
  const createdAt = Date.now();
  const expiresAt = createdAt + day;
  const record = { id, name: "bench", userId: "owner", scopes: ["files:read"], createdAt, expiresAt };
  return { token, put: operatorTokens.put(id, { ...record, tokenHash: hashSecret(token) }, expiresAt) };
}

/** A client of `clients create`. */
function makeClient(): { readonly id: string; readonly secret: string; readonly put: Put } {
  const id = `pcc_${randomId()}`;
  const secret = `pcs_${randomSecret()}`;
  const now = Date.now();
  const client: Client = {
    id,
    name: "bench",
    origin: "operator",
    redirectUris: [],
    grantTypes: ["client_credentials"],
    authentication: "client_secret_basic",
    secretHash: hashSecret(secret),
    secretExpiresAt: 0,
    scopes: ["files:read"],
    jwks: null,
    jwksUri: null,
    registeredAt: now,
    usedAt: now,
  };
  return { id, secret, put: clients.put(id, client) };
}

/** Writes beside the running server, as a command does. */
async function store({ dataDir }: ServerPlace, puts: readonly Put[]): Promise<void> {
  const storage = openSqliteStorage({ path: `${dataDir}/portcullis.db`, clock: Date.now });
  try {
    for (let at = 0; at < puts.length; at += storageLimits.writes) {
      await storage.commit({ puts: puts.slice(at, at + storageLimits.writes) });
    }
  } finally {
    await storage.close();
  }
}
