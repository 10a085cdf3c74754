/** The clients of `deno task interop`, and what each can do. */
import { agentClient } from "./agent_client.ts";
import { claudeCode, codex, geminiCli, openCode } from "./agents.ts";
import { checkHeldCalls } from "./held_calls.ts";
import { inspectorCommandLine } from "./inspector_command_line.ts";
import { tryInspectorPage } from "./inspector_page.ts";
import { aiSdk } from "./libraries/ai_sdk.ts";
import { langChain } from "./libraries/langchain.ts";
import { mastra } from "./libraries/mastra.ts";
import { openaiAgents } from "./libraries/openai_agents.ts";
import { mcpRemoteClient } from "./mcp_remote.ts";
import { mcporter, mcporterTraits } from "./mcporter.ts";
import { giveUpCall } from "./python/given_up_call.ts";
import { checkModelView } from "./model_view.ts";
import { pythonClient } from "./python/story_client.ts";
import { type MakeClient, tellStory, type Traits } from "./story.ts";
import { useMcp, useMcpTraits } from "./use_mcp.ts";

/** A client, and what is tried with it. */
export interface InteropClient {
  readonly name: string;
  story(): Promise<void>;
}

/** The exit status of a client that cannot be had here. */
export const skippedStatus = 77;

/** Gets a client; what it leaves behind goes on the stack. */
type LoadClient = (stack: AsyncDisposableStack) => Promise<MakeClient>;

function client(name: string, load: LoadClient, traits: Traits = {}): InteropClient {
  return {
    name,
    async story() {
      await using stack = new globalThis.AsyncDisposableStack();
      await tellStory(await load(stack), traits);
    },
  };
}

const pythonSdk = ["mcp==2.3.0"];
const commandLine: Traits = { exactText: false, progress: false };
const agent: Traits = { ...commandLine, images: false, overlaps: false, accessTokenSeconds: 10 };

/** All of them. */
export const clients: readonly InteropClient[] = [
  client("AI SDK", aiSdk, { progress: false }),
  client("OpenAI Agents", openaiAgents, { progress: false }),
  client("LangChain", langChain),
  client("Mastra", mastra),
  client("Python SDK, auto", pythonClient("mcp", pythonSdk, "auto")),
  client("Python SDK, legacy", pythonClient("mcp", pythonSdk, "legacy")),
  { name: "Python SDK, a call that is given up", story: () => giveUpCall(pythonSdk) },
  client("FastMCP", pythonClient("fastmcp", ["fastmcp==4.0.10"], "auto")),
  client("mcp-remote", mcpRemoteClient),
  client("mcporter", mcporter, mcporterTraits),
  client("Inspector, command line, legacy", inspectorCommandLine("legacy"), { ...commandLine, cancels: false }),
  client("Inspector, command line, modern", inspectorCommandLine("modern"), commandLine),
  { name: "Inspector, page in Chromium, to an undo in the view", story: tryInspectorPage },
  client("Claude Code", agentClient(claudeCode), agent),
  client("Codex", agentClient(codex), { ...agent, cancels: false }),
  client("OpenCode", agentClient(openCode), { ...agent, cancels: false }),
  client("Gemini CLI", agentClient(geminiCli), { ...agent, cancels: false }),
  {
    name: "Claude Code, answers",
    story: () => checkModelView(claudeCode, { wholeCharacters: 300_000 }),
  },
  { name: "Codex, answers", story: () => checkModelView(codex, { wholeCharacters: 8_000 }) },
  {
    name: "OpenCode, answers",
    story: () => checkModelView(openCode, { wholeCharacters: 40_000 }),
  },
  { name: "Claude Code, held calls", story: () => checkHeldCalls(claudeCode) },
  { name: "Codex, held calls", story: () => checkHeldCalls(codex) },
  { name: "OpenCode, held calls", story: () => checkHeldCalls(openCode) },
  client("use-mcp in Chromium", useMcp, useMcpTraits),
];
