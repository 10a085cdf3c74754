/** Mastra's MCP client, which registers nowhere: the owner makes its client. */
import { freePort } from "../../fixtures/free_port.ts";
import { approve } from "../../fixtures/owner.ts";
import type { MakeClient } from "../story.ts";
import { toToolAnswer } from "../tool_answer.ts";
import { importFromNpm } from "./import_from_npm.ts";

interface MastraTool {
  execute(input: unknown, context: { readonly abortSignal?: AbortSignal }): Promise<object>;
}

interface MastraClient {
  listTools(): Promise<Readonly<Record<string, MastraTool>>>;
  authenticate(server: string): Promise<void>;
  disconnect(): Promise<void>;
  readonly progress: { onUpdate(server: string, handler: () => void): Promise<void> };
}

interface Mastra {
  readonly MCPClient: new (options: unknown) => MastraClient;
  readonly MCPOAuthClientProvider: new (options: unknown) => unknown;
  getMcpCallToolContent(output: unknown): unknown;
}

const serverName = "portcullis";
const scope = "files:read files:write llm:generate";

/** Loads it. */
export async function mastra(): Promise<MakeClient> {
  const library = await importFromNpm<Mastra>("@mastra/mcp@2.0.0");
  return ({ endpoint, person, administer }) => {
    const redirectUrl = `http://127.0.0.1:${freePort()}/callback`;
    let onProgress: (() => void) | undefined;
    let client: MastraClient | undefined;
    let tools: Readonly<Record<string, MastraTool>> = {};
    return {
      async connect() {
        const made = await administer(
          ...["clients", "create", "--name", "Mastra", "--scope", scope],
          ...["--grant", "authorization_code", "--auth-method", "none", "--redirect-uri", redirectUrl],
        );
        const client_id = /^client_id=(\S+)/m.exec(made)?.[1];
        const authProvider = new library.MCPOAuthClientProvider({
          redirectUrl,
          clientInformation: { client_id },
          clientMetadata: {
            redirect_uris: [redirectUrl],
            client_name: "Mastra",
            grant_types: ["authorization_code", "refresh_token"],
            response_types: ["code"],
            token_endpoint_auth_method: "none",
            scope,
          },
          onRedirectToAuthorization: async (url: URL) => {
            const callback = await approve(person, url);
            setTimeout(() => void fetch(callback).then((answer) => answer.text()));
          },
        });
        const server = { url: endpoint, authProvider, onToolError: "return", enableProgressTracking: true };
        client = new library.MCPClient({ id: client_id, servers: { [serverName]: server } });
        await client.authenticate(serverName);
        await client.progress.onUpdate(serverName, () => onProgress?.());
        tools = await client.listTools();
      },
      tools: () => Promise.resolve(Object.keys(tools).map((name) => name.slice(serverName.length + 1))),
      async call(name, input, { signal, ...options } = {}) {
        onProgress = options.onProgress;
        const tool = tools[`${serverName}_${name}`];
        if (tool === undefined) throw new Error(`no tool ${name}`);
        const result = await tool.execute(input, signal === undefined ? {} : { abortSignal: signal });
        const content = library.getMcpCallToolContent(result); // of a result that has structured content
        return toToolAnswer(content === undefined ? result : { content });
      },
      close: async () => await client?.disconnect(),
    };
  };
}
