/**
 * The AI SDK's MCP client through the whole story. A program of its own, since its packages are in no lock file:
 * `deno run -A --no-lock --config deno.dev.json tests/interop/ai_sdk_story.ts`.
 */
import process from "node:process";
import { OAuthApplication } from "../fixtures/oauth_application.ts";
import { approve } from "../fixtures/owner.ts";
import { type MakeClient, tellStory } from "./story.ts";

interface AiClient {
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(call: unknown): Promise<{ readonly isError?: boolean; readonly content: readonly { text?: string }[] }>;
  close(): Promise<void>;
}

interface AiSdk {
  createMCPClient(options: unknown): Promise<AiClient>;
  auth(provider: unknown, options: unknown): Promise<string>;
  readonly UnauthorizedError: new (message?: string) => Error;
}

const specifier = "npm:@ai-sdk/mcp@2.0.99"; // not to be resolved by the type check
const sdk = await import(specifier) as AiSdk;

class Application extends OAuthApplication<Record<string, unknown>, Record<string, unknown>> {
  #server: unknown;
  isClientInformationDynamicallyRegistered = (): boolean => true;
  authorizationServerInformation = (): unknown => this.#server;
  saveAuthorizationServerInformation = (server: unknown): void => void (this.#server = server);
}

const make: MakeClient = (endpoint, person) => {
  const application = new Application((url) => approve(person, url));
  const open = () =>
    sdk.createMCPClient({ transport: { type: "http", url: endpoint.href, authProvider: application } });
  let client: AiClient | undefined;
  const opened = (): AiClient => {
    if (client === undefined) throw new Error("not connected");
    return client;
  };
  return {
    async connect() {
      try {
        client = await open();
      } catch (error) {
        if (!(error instanceof sdk.UnauthorizedError)) throw error;
        const { searchParams } = application.callback ?? new URL("about:blank");
        await sdk.auth(application, {
          serverUrl: endpoint,
          authorizationCode: searchParams.get("code"),
          callbackIssuer: searchParams.get("iss"),
        });
        client = await open();
      }
    },
    tools: async () => (await opened().listTools()).tools.map(({ name }) => name),
    async call(name, input, signal) {
      const options = signal === undefined ? {} : { options: { signal, abortSignal: signal } };
      const { isError, content } = await opened().callTool({ name, arguments: input, ...options });
      return { isError: isError === true, text: content[0]?.text ?? "" };
    },
    close: () => opened().close(),
  };
};

await tellStory(make);
process.exit(0);
