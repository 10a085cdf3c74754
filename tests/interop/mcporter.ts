/** mcporter, a command line for MCP servers: it signs in, and each call is a process of its own. */
import { installFromNpm } from "./npm_client.ts";
import type { MakeClient, Traits } from "./story.ts";

/** It refreshes with another client's id (RFC 6749 §6), and a process that ends cancels nothing on 2025-11-25. */
export const mcporterTraits: Traits = { exactText: false, progress: false, cancels: false, refreshes: false };

/** Installs it. */
export async function mcporter(stack: AsyncDisposableStack): Promise<MakeClient> {
  const client = stack.use(await installFromNpm(["mcporter@0.12.3"]));
  return ({ endpoint, person }) => ({
    async connect() {
      await Deno.mkdir(`${client.home}/config`, { recursive: true });
      const mcpServers = { portcullis: { url: endpoint.href, auth: "oauth" } };
      await Deno.writeTextFile(`${client.home}/config/mcporter.json`, JSON.stringify({ mcpServers, imports: [] }));
      await client.signIn("mcporter auth portcullis --no-browser --reset", person);
    },
    async tools() {
      const { tools } = JSON.parse(await client.shell("mcporter list portcullis --json"));
      return (tools as { name: string }[]).map(({ name }) => name);
    },
    async call(tool, input) {
      const args = `--args '${JSON.stringify(input)}' --output raw --no-oauth`;
      const said = await client.shell(`mcporter call portcullis.${tool} ${args}`);
      const isError = /isError: (true|false)/.exec(said)?.[1];
      if (isError === undefined) throw new Error(said);
      return { isError: isError === "true", text: said, image: /data: '([^']+)'/.exec(said)?.[1] };
    },
    close: () => Promise.resolve(),
  });
}
