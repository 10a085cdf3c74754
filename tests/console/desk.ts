/** A whole server with its owner at the console, and a client whose calls are held. */
import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { madeOnce, makeOnce } from "../fixtures/forms/made_once.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson, type Page, type Person } from "../fixtures/person.ts";
import {
  makeServerPlace,
  runCommand,
  type RunningServer,
  type ServerPlace,
  startServer,
} from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

export interface Desk extends AsyncDisposable {
  readonly place: ServerPlace;
  readonly server: RunningServer;
  readonly owner: Person;
  readonly token: string;
  /** Calls a tool as the client of the token does. */
  call(tool: string, input: Record<string, unknown>): Promise<{ readonly text: string; readonly isError: boolean }>;
  /** The page of a section, signed in. */
  page(section: string): Promise<Page>;
  rule(fields: Record<string, string>): Promise<void>;
  decide(decision: "approve" | "deny", fields?: Record<string, string>): Promise<Page>;
}

export async function startDesk(
  { patienceMs = 60_000, leastReadingMs, env = {} }: {
    readonly patienceMs?: number;
    readonly leastReadingMs?: number;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<Desk> {
  const place = await makeServerPlace();
  const { data, token, cookies } = await (settled ??= settleOwner());
  await cp(data, place.dataDir, { recursive: true });
  const approval = {
    patienceMs,
    signInCountsMs: settledForMs,
    ...(leastReadingMs === undefined ? {} : { leastReadingMs }),
  };
  const server = await startServer(place, { env, bounds: { approval } });
  const owner = createPerson(server.url, fetch, new Map(cookies));
  const page = (section: string) => openSignedIn(owner, `${server.url}/console/${section}`);
  return {
    place,
    server,
    owner,
    token,
    call: (tool, input) => callTool(server, token, tool, input),
    page,
    async rule(fields) {
      const added = await owner.submit(await page("rules"), { ...fields, clicked: "" }, 'value="add"');
      assert.match(added.html, /The rule was added/);
    },
    async decide(decision, fields = {}) {
      await until("a call waits", async () => (await page("decisions")).html.includes("<article"));
      return await owner.submit(await page("decisions"), { decision, ...fields }, 'value="decide"');
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}

/** What a data directory holds whose owner is set up, signed in, and has a token for a client. */
interface Settled {
  readonly data: string;
  readonly token: string;
  readonly cookies: readonly (readonly [string, string])[];
}

/** The sign-in is as old as the gate. */
const settledForMs = 3_600_000;
let settled: Promise<Settled> | undefined;

/** It is made once: the hash of the passphrase, the pages and the command take as much processor time as a start. */
async function settleOwner(): Promise<Settled> {
  const settle = async (directory: string): Promise<string> => {
    const place = { dataDir: join(directory, "data"), workspaceDir: join(directory, "workspace") };
    await using server = await startServer({ ...place, [Symbol.asyncDispose]: async () => {} }, { bounds: {} });
    const cookies = new Map<string, string>();
    await setUpOwner(createPerson(server.url, fetch, cookies), server);
    const token = await createToken(place, "owner");
    return JSON.stringify({ data: place.dataDir, token, cookies: [...cookies] } satisfies Settled);
  };
  if (madeOnce) return JSON.parse(await makeOnce(join(madeOnce, "settled"), settle));
  const directory = await Deno.makeTempDir({ prefix: "portcullis-settled-" });
  addEventListener("unload", () => Deno.removeSync(directory, { recursive: true }));
  return JSON.parse(await settle(directory));
}

export async function createToken(place: Pick<ServerPlace, "dataDir">, user: string): Promise<string> {
  const scope = "files:read files:write";
  const made = await runCommand(["token", "create", "--scope", scope, "--user", user, "--data-dir", place.dataDir]);
  assert.equal(made.code, 0, made.stderr);
  return made.stdout.trim();
}

export async function callTool(
  server: Pick<RunningServer, "url">,
  token: string,
  tool: string,
  input: Record<string, unknown>,
): Promise<{ readonly text: string; readonly isError: boolean }> {
  const { result } = await (await postMcp(server.url, toolCall(tool, input), { token })).json();
  return {
    isError: result.isError === true,
    text: result.content.map((block: { text?: string }) => block.text ?? "").join("\n"),
  };
}

export const fileIn = ({ place }: Desk, name: string): Promise<string> =>
  Deno.readTextFile(`${place.workspaceDir}/${name}`);
export const isThere = (desk: Desk, name: string): Promise<boolean> => fileIn(desk, name).then(() => true, () => false);
