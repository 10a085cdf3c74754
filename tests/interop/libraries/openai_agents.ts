/** The MCP client of OpenAI's Agents SDK, which signs in as the official SDK v2 does. */
import { OAuthApplication } from "../../fixtures/oauth_application.ts";
import { approve } from "../../fixtures/owner.ts";
import type { MakeClient } from "../story.ts";
import { toToolAnswer } from "../tool_answer.ts";
import { importFromNpm } from "./import_from_npm.ts";

interface AgentsServer {
  connect(): Promise<void>;
  listTools(): Promise<readonly { readonly name: string }[]>;
  callToolResult(
    name: string,
    input: unknown,
    meta: null,
    options: { readonly signal?: AbortSignal },
  ): Promise<unknown>;
  close(): Promise<void>;
}

interface Agents {
  readonly MCPServerStreamableHttp: new (options: unknown) => AgentsServer;
}

interface OfficialSdk {
  auth(provider: unknown, options: unknown): Promise<string>;
}

const quiet = {
  namespace: "portcullis",
  debug() {},
  warn() {},
  error() {},
  dontLogModelData: true,
  dontLogToolData: true,
};

/** Loads it. */
export async function openaiAgents(): Promise<MakeClient> {
  const agents = await importFromNpm<Agents>("@openai/agents@0.20.0");
  const official = await importFromNpm<OfficialSdk>("@modelcontextprotocol/client@2.4.0");
  return ({ endpoint, person }) => {
    const application = new OAuthApplication<Record<string, unknown>, Record<string, unknown>>((url) =>
      approve(person, url)
    );
    const make = () =>
      new agents.MCPServerStreamableHttp({ url: endpoint.href, authProvider: application, logger: quiet });
    let server = make();
    return {
      async connect() {
        server = make();
        try {
          await server.connect();
        } catch (error) {
          if (application.callback === undefined) throw error;
          const { searchParams } = application.callback;
          application.callback = undefined;
          const authorizationCode = searchParams.get("code");
          await official.auth(application, { serverUrl: endpoint, authorizationCode, iss: searchParams.get("iss") });
          server = make();
          await server.connect();
        }
      },
      tools: async () => (await server.listTools()).map(({ name }) => name),
      call: async (name, input, { signal } = {}) =>
        toToolAnswer(await server.callToolResult(name, input, null, signal === undefined ? {} : { signal })),
      close: () => server.close(),
    };
  };
}
