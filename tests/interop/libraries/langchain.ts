/** LangChain's MCP adapters: every tool becomes a tool of LangChain, and a tool's error is thrown. */
import { OAuthApplication } from "../../fixtures/oauth_application.ts";
import { approve } from "../../fixtures/owner.ts";
import type { MakeClient } from "../story.ts";
import { importFromNpm } from "./import_from_npm.ts";

interface LangChainTool {
  readonly name: string;
  invoke(input: unknown, config: { readonly signal?: AbortSignal }): Promise<unknown>;
}

interface MultiClient {
  getTools(): Promise<readonly LangChainTool[]>;
  close(): Promise<void>;
}

interface Adapters {
  readonly MultiServerMCPClient: new (options: unknown) => MultiClient;
}

interface OfficialSdk {
  auth(provider: unknown, options: unknown): Promise<string>;
}

interface Block {
  readonly text?: string;
  readonly image_url?: { readonly url: string };
}

/** Loads it. */
export async function langChain(): Promise<MakeClient> {
  const adapters = await importFromNpm<Adapters>("@langchain/mcp-adapters@1.1.4");
  const official = await importFromNpm<OfficialSdk>("@modelcontextprotocol/sdk@1.32.2/client/auth.js");
  return ({ endpoint, person }) => {
    const application = new OAuthApplication<Record<string, unknown>, Record<string, unknown>>((url) =>
      approve(person, url)
    );
    let onProgress: (() => void) | undefined;
    const make = () =>
      new adapters.MultiServerMCPClient({
        mcpServers: { portcullis: { transport: "http", url: endpoint.href, authProvider: application } },
        onProgress: () => onProgress?.(),
      });
    let client = make();
    let tools: readonly LangChainTool[] = [];
    return {
      async connect() {
        client = make();
        try {
          tools = await client.getTools();
        } catch (error) {
          if (application.callback === undefined) throw error;
          const authorizationCode = application.callback.searchParams.get("code");
          application.callback = undefined;
          await official.auth(application, { serverUrl: endpoint, authorizationCode });
          client = make();
          tools = await client.getTools();
        }
      },
      tools: () => Promise.resolve(tools.map(({ name }) => name)),
      async call(name, input, options = {}) {
        onProgress = options.onProgress;
        const tool = tools.find((each) => each.name === name);
        if (tool === undefined) throw new Error(`no tool ${name}`);
        try {
          return toAnswer(await tool.invoke(input, options.signal === undefined ? {} : { signal: options.signal }));
        } catch (error) {
          const text = error instanceof Error ? /returned an error: ([\s\S]*)/.exec(error.message)?.[1] : undefined;
          if (text === undefined) throw error;
          return { isError: true, text };
        }
      },
      close: () => client.close(),
    };
  };
}

function toAnswer(content: unknown) {
  const [block] = (Array.isArray(content) ? content : [content]) as (string | Block)[];
  if (typeof block === "string") return { isError: false, text: block };
  return { isError: false, text: block?.text ?? "", image: block?.image_url?.url.split(",")[1] };
}
