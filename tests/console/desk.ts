/** A whole server with its owner at the console, and a client whose calls are held. */
import assert from "node:assert/strict";
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
  const approval = { patienceMs, ...(leastReadingMs === undefined ? {} : { leastReadingMs }) };
  const server = await startServer(place, { env, bounds: { approval } });
  const owner = createPerson(server.url);
  await setUpOwner(owner, server);
  const token = await createToken(place, "owner");
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

export async function createToken(place: ServerPlace, user: string): Promise<string> {
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
