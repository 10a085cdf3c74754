/** The command line of the MCP Inspector: it signs in by itself, and each call is a process of its own. */
import { freePort } from "../fixtures/free_port.ts";
import { installFromNpm, type NpmClient } from "./npm_client.ts";
import type { MakeClient } from "./story.ts";
import { toToolAnswer } from "./tool_answer.ts";

/** The package, whose page is a client of its own. */
export const inspectorPackage = "@modelcontextprotocol/inspector@2.12.0";

/** Installs it, for one of its eras: "legacy", "auto" or "modern". */
export function inspectorCommandLine(era: string): (stack: AsyncDisposableStack) => Promise<MakeClient> {
  return async (stack) => {
    const client = stack.use(
      await installFromNpm([inspectorPackage], {
        BROWSER: "true",
        MCP_INSPECTOR_SECRET_STORE: "file",
      }),
    );
    return ({ endpoint, person }) => {
      const callback = `http://127.0.0.1:${freePort()}/oauth/callback`;
      const command = (...words: string[]): string =>
        `inspector --cli --server-url ${endpoint} --transport http --protocol-era ${era} --callback-url ${callback} ` +
        `--format json --quiet ${words.join(" ")}`;
      return {
        async connect() {
          await client.shell(`rm -rf ${client.home}/.mcp-inspector`);
          await client.signIn(command("--method tools/list"), person);
        },
        async tools() {
          const { tools } = resultOf(await client.shell(command("--stored-auth-only --method tools/list")));
          return (tools as { name: string }[]).map(({ name }) => name);
        },
        async call(tool, input, { signal } = {}) {
          const words = ["--stored-auth-only --method tools/call --tool-name", tool];
          const said = await run(client, command(...words, `--tool-args-json '${JSON.stringify(input)}'`), signal);
          return toToolAnswer(resultOf(said));
        },
        close: () => Promise.resolve(),
      };
    };
  };
}

/** The line with the result, among notes and the error of a tool. */
function resultOf(said: string): Record<string, unknown> {
  const line = said.split("\n").find((each) => each.startsWith('{"result":'));
  if (line === undefined) throw new Error(said);
  return JSON.parse(line).result;
}

async function run(client: NpmClient, command: string, signal?: AbortSignal): Promise<string> {
  if (signal === undefined) return await client.shell(command);
  const child = client.spawn(command);
  signal.addEventListener("abort", () => child.kill("SIGINT"));
  return new TextDecoder().decode((await child.output()).stdout);
}
