/** The AI SDK's MCP client. */
import { OAuthApplication } from "../../fixtures/oauth_application.ts";
import { approve } from "../../fixtures/owner.ts";
import type { MakeClient } from "../story.ts";
import { toToolAnswer } from "../tool_answer.ts";
import { importFromNpm } from "./import_from_npm.ts";

interface AiClient {
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(call: unknown): Promise<unknown>;
  close(): Promise<void>;
}

interface AiSdk {
  createMCPClient(options: unknown): Promise<AiClient>;
  auth(provider: unknown, options: unknown): Promise<string>;
  readonly UnauthorizedError: new (message?: string) => Error;
}

class Application extends OAuthApplication<Record<string, unknown>, Record<string, unknown>> {
  #server: unknown;
  isClientInformationDynamicallyRegistered = (): boolean => true;
  authorizationServerInformation = (): unknown => this.#server;
  saveAuthorizationServerInformation = (server: unknown): void => void (this.#server = server);
}

/** Loads it. */
export async function aiSdk(): Promise<MakeClient> {
  const sdk = await importFromNpm<AiSdk>("@ai-sdk/mcp@2.0.99");
  return ({ endpoint, person }) => {
    const application = new Application((url) => approve(person, url));
    const transport = { type: "http", url: endpoint.href, authProvider: application };
    let client: AiClient | undefined;
    const opened = (): AiClient => {
      if (client === undefined) throw new Error("not connected");
      return client;
    };
    return {
      async connect() {
        try {
          client = await sdk.createMCPClient({ transport });
        } catch (error) {
          if (!(error instanceof sdk.UnauthorizedError)) throw error;
          const { searchParams } = application.callback ?? new URL("about:blank");
          await sdk.auth(application, {
            serverUrl: endpoint,
            authorizationCode: searchParams.get("code"),
            callbackIssuer: searchParams.get("iss"),
          });
          client = await sdk.createMCPClient({ transport });
        }
      },
      tools: async () => (await opened().listTools()).tools.map(({ name }) => name),
      async call(name, input, { signal } = {}) {
        const options = signal === undefined ? {} : { options: { signal, abortSignal: signal } };
        return toToolAnswer(await opened().callTool({ name, arguments: input, ...options }));
      },
      close: () => opened().close(),
    };
  };
}
