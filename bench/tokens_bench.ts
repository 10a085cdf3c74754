/**
 * `deno task bench tokens`: what an agent's context pays, in o200k tokens, for the list of tools and for its everyday jobs,
 * with ours (`main.ts stdio`) and with the official @modelcontextprotocol/server-filesystem in the same minute. A job is a
 * script of the fewest sensible calls (tests/fixtures/agent_jobs); its outcome is checked. A call costs its arguments as
 * JSON and the text of its answer; pictures are not counted. The official server does the jobs that it can do.
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Agent } from "../tests/fixtures/agent_jobs/job.ts";
import { jobs } from "../tests/fixtures/agent_jobs/jobs.ts";
import { officialJobs } from "../tests/fixtures/agent_jobs/official_jobs.ts";
import { makeAgentWorkspace, smallSize } from "../tests/fixtures/agent_jobs/workspace.ts";
import { serverFlags } from "../tests/fixtures/running_server.ts";
import { installOfficialFilesystem } from "./official_filesystem.ts";
import { print, row } from "./table.ts";

interface Tally {
  calls: number;
  tokens: number;
}

interface Side {
  readonly client: Client;
  readonly agent: Agent;
  /** What was paid since the last time. */
  take(): Tally;
}

const base = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "portcullis-tokens-" }));
const environment = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "" };
const sides: Side[] = [];
try {
  const installed = await installOfficialFilesystem(`${base}/official-server`);
  const main = fileURLToPath(new URL("../main.ts", import.meta.url));
  const ours = await connect(`${base}/ours`, Deno.execPath(), ["run", ...serverFlags, main, "stdio"], {
    DATA_DIR: `${base}/data`,
    WORKSPACE_DIR: `${base}/ours`,
    MCP_RATE_LIMIT: "1000000",
  });
  const official = "missing" in installed ? null : await connect(`${base}/official`, "node", [
    installed.program,
    `${base}/official`,
  ], {});
  if ("missing" in installed) print(`without the official server: ${installed.missing}\n`);
  await compareLists(ours, official);
  await compareAnswers(ours);
  await compareJobs(ours, official);
} finally {
  for (const { client } of sides) await client.close();
  Deno.removeSync(base, { recursive: true });
}

async function connect(
  root: string,
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Side> {
  Deno.mkdirSync(root);
  makeAgentWorkspace(root, smallSize);
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...environment, ...env },
    stderr: "ignore",
  });
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(transport);
  let tally: Tally = { calls: 0, tokens: 0 };
  const call = async (name: string, input: Readonly<Record<string, unknown>>) => {
    const { content, isError } = await client.callTool({ name, arguments: input });
    const blocks = content as readonly { readonly text?: string }[];
    const text = blocks.flatMap((block) => block.text === undefined ? [] : [block.text]).join("\n");
    tally.calls++;
    tally.tokens += countTokens(JSON.stringify(input)) + countTokens(text);
    return { text, isError: isError === true };
  };
  const side: Side = {
    client,
    agent: {
      onDisk: true,
      async done(tool, input) {
        const { text, isError } = await call(tool, input);
        if (isError) throw new Error(`${tool} ${JSON.stringify(input)}: ${text}`);
        return text;
      },
      async refused(tool, input) {
        const { text, isError } = await call(tool, input);
        if (!isError) throw new Error(`${tool} ${JSON.stringify(input)} was not refused`);
        return text;
      },
      bytes: (path) => Deno.readFile(`${root}/${path}`).catch(() => null),
      save: (path, text) => Deno.writeTextFile(`${root}/${path}`, text),
    },
    take() {
      const taken = tally;
      tally = { calls: 0, tokens: 0 };
      return taken;
    },
  };
  sides.push(side);
  return side;
}

async function compareLists(ours: Side, official: Side | null): Promise<void> {
  const clients: readonly (readonly [string, (tool: Record<string, unknown>) => unknown])[] = [
    ["whole list of tools", (tool) => tool],
    ["name, description, inputSchema", ({ name, description, inputSchema }) => ({ name, description, inputSchema })],
  ];
  print(row("o200k tokens", "ours", "official", "ours / official"));
  for (const [name, passedOn] of clients) {
    const sizeOf = async ({ client }: Side): Promise<number> => {
      const { tools }: { readonly tools: readonly Record<string, unknown>[] } = await client.listTools();
      return tools.reduce((sum, tool) => sum + countTokens(JSON.stringify(passedOn(tool))), 0);
    };
    const own = await sizeOf(ours);
    const other = official === null ? NaN : await sizeOf(official);
    print(row(name, String(own), String(other), own / other));
  }
  print(row("instructions", String(countTokens(ours.client.getInstructions() ?? "")), "0"));
}

/** Answers that have a bound of their own. */
async function compareAnswers({ agent, take }: Side): Promise<void> {
  await agent.done("file_search", { query: "payload.issues.push" });
  print(row("97 hits", String(take().tokens)));
  await agent.done("file_list", { pattern: "**" });
  print(row("a page of a tree of 1,000 entries", String(take().tokens)));
}

async function compareJobs(ours: Side, official: Side | null): Promise<void> {
  print(`\n${row("", "ours", "calls", "official", "calls", "ours / official")}`);
  const both = { ours: 0, official: 0, jobs: 0 };
  for (const { name, run } of jobs) {
    await run(ours.agent);
    const own = ours.take();
    const theirs = officialJobs[name];
    if (official === null || theirs === undefined) {
      print(row(name, String(own.tokens), String(own.calls)));
      continue;
    }
    await theirs(official.agent, `${base}/official`);
    const other = official.take();
    both.jobs++;
    both.ours += own.tokens;
    both.official += other.tokens;
    print(
      row(
        name,
        String(own.tokens),
        String(own.calls),
        String(other.tokens),
        String(other.calls),
        own.tokens / other.tokens,
      ),
    );
  }
  print(
    row(
      `the ${both.jobs} jobs that both do`,
      String(both.ours),
      "",
      String(both.official),
      "",
      both.ours / both.official,
    ),
  );
}
