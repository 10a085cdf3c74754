/** mcp-remote, as desktop applications start it, behind the official SDK's client. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { approve } from "../fixtures/owner.ts";
import type { MakeClient } from "./story.ts";
import { toToolAnswer } from "./tool_answer.ts";

const program = "npm:mcp-remote@0.15.1";
const callTimeoutMs = 20_000;

/** Starts it for an endpoint; `home` keeps what it remembers. */
function mcpRemote(endpoint: string, home: string): StdioClientTransport {
  return new StdioClientTransport({
    command: Deno.execPath(),
    args: ["run", "-A", "--no-lock", program, endpoint, "--transport", "http-only", "--allow-http"],
    env: {
      NO_COLOR: "1",
      MCP_REMOTE_CONFIG_DIR: home,
      BROWSER: "true",
      PATH: "/nonexistent",
      HOME: Deno.env.get("HOME") ?? home,
    },
    stderr: "pipe",
  });
}

/** A client that signs in through it. */
export async function mcpRemoteClient(stack: AsyncDisposableStack): Promise<MakeClient> {
  const home = await Deno.makeTempDir({ prefix: "portcullis-interop-" });
  stack.defer(() => Deno.remove(home, { recursive: true }));
  // a download takes longer than a client waits for a program to answer
  await new Deno.Command(Deno.execPath(), { args: ["cache", "--quiet", "--no-lock", program] }).output();
  return ({ endpoint, person }) => {
    let client = new Client({ name: "desktop", version: "1" });
    return {
      async connect() {
        const transport = mcpRemote(endpoint.href, home);
        let printed = "";
        let isApproved = false;
        transport.stderr?.on("data", (chunk: Uint8Array) => {
          printed += new TextDecoder().decode(chunk);
          const link = /(http\S+\/oauth\/authorize\?\S+)\n/.exec(printed)?.[1];
          if (link === undefined || isApproved) return;
          isApproved = true;
          approve(person, new URL(link)).then(async (callback) => void await (await fetch(callback)).text())
            .catch((error) => transport.onerror?.(error));
        });
        client = new Client({ name: "desktop", version: "1" });
        await client.connect(transport);
      },
      tools: async () => (await client.listTools()).tools.map((tool: { name: string }) => tool.name),
      call: async (name, input, { signal, onProgress } = {}) =>
        toToolAnswer(
          await client.callTool({ name, arguments: input }, undefined, {
            timeout: callTimeoutMs,
            ...(signal === undefined ? {} : { signal }),
            ...(onProgress === undefined ? {} : { onprogress: onProgress }),
          }),
        ),
      close: () => client.close(),
    };
  };
}
