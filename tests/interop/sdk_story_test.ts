/** The official SDKs, in each era that they speak, through the whole story of a client. */
import * as v2 from "@modelcontextprotocol/client";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import { OAuthApplication } from "../fixtures/oauth_application.ts";
import { approve } from "../fixtures/owner.ts";
import { type CallOptions, type MakeClient, tellStory } from "./story.ts";
import { toToolAnswer } from "./tool_answer.ts";

const sdkV1: MakeClient = ({ endpoint, person }) => {
  const application = new OAuthApplication<OAuthClientInformationMixed, OAuthTokens>((url) => approve(person, url));
  let client = new Client({ name: "sdk-v1", version: "1" });
  return {
    async connect() {
      const transport = new StreamableHTTPClientTransport(endpoint, { authProvider: application });
      client = new Client({ name: "sdk-v1", version: "1" });
      try {
        await client.connect(transport);
      } catch (error) {
        if (!(error instanceof UnauthorizedError)) throw error;
        await transport.finishAuth(application.callback?.searchParams.get("code") ?? "");
        client = new Client({ name: "sdk-v1", version: "1" });
        await client.connect(new StreamableHTTPClientTransport(endpoint, { authProvider: application }));
      }
    },
    tools: async () => (await client.listTools()).tools.map((tool: { name: string }) => tool.name),
    call: async (name, input, options) =>
      toToolAnswer(await client.callTool({ name, arguments: input }, undefined, requestOptions(options))),
    close: () => client.close(),
  };
};

function sdkV2(mode: v2.VersionNegotiationMode): MakeClient {
  return ({ endpoint, person }) => {
    const application = new OAuthApplication<v2.StoredOAuthClientInformation, v2.StoredOAuthTokens>((url) =>
      approve(person, url)
    );
    const makeClient = () => new v2.Client({ name: "sdk-v2", version: "1" }, { versionNegotiation: { mode } });
    let client = makeClient();
    return {
      async connect() {
        const transport = new v2.StreamableHTTPClientTransport(endpoint, { authProvider: application });
        client = makeClient();
        try {
          await client.connect(transport);
        } catch (error) {
          if (!(error instanceof v2.UnauthorizedError) || application.callback === undefined) throw error;
          await transport.finishAuth(application.callback.searchParams); // checks iss (RFC 9207)
          client = makeClient();
          await client.connect(new v2.StreamableHTTPClientTransport(endpoint, { authProvider: application }));
        }
      },
      tools: async () => (await client.listTools()).tools.map((tool) => tool.name),
      call: async (name, input, options) =>
        toToolAnswer(await client.callTool({ name, arguments: input }, requestOptions(options))),
      close: () => client.close(),
    };
  };
}

function requestOptions({ signal, onProgress = () => {} }: CallOptions = {}) {
  return { onprogress: onProgress, ...(signal === undefined ? {} : { signal }) };
}

const clients: [string, MakeClient][] = [
  ["SDK v1", sdkV1],
  ["SDK v2, legacy", sdkV2("legacy")],
  ["SDK v2, auto", sdkV2("auto")],
];
for (const [name, make] of clients) {
  Deno.test(`${name}: registers, signs in, works, cancels, refreshes, survives kill -9 and its own removal`, () =>
    tellStory(make));
}
