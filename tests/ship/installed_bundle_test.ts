/** An MCPB bundle as Claude Desktop has it: unpacked, its settings filled in, started over stdio. The program in it is small. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { root } from "../../scripts/bundle.ts";
import { makeBundle } from "../../scripts/release/mcpb.ts";
import { prepareForm } from "../fixtures/forms/prepare_form.ts";
import { needsPrograms } from "../fixtures/skipped_unless.ts";

Deno.test({
  ...needsPrograms(["unzip"], "an MCPB bundle, unpacked, serves stdio in the directory that the person chose"),
  fn: async () => {
    await using prepared = await prepareForm("bundle");
    const directory = await Deno.makeTempDir({ prefix: "portcullis-mcpb-" });
    try {
      await installAndUse(directory, prepared.env["PORTCULLIS_PROGRAM"] ?? "");
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});

async function installAndUse(directory: string, program: string): Promise<void> {
  const bytes = makeBundle({
    version: "0.1.0",
    target: "x86_64-unknown-linux-gnu",
    program: await Deno.readFile(program),
    license: await Deno.readFile(`${root}LICENSE`),
    notices: new Uint8Array(),
  });
  await Deno.writeFile(join(directory, "portcullis.mcpb"), bytes);
  const installed = join(directory, "installed");
  const unpacked = await new Deno.Command("unzip", {
    args: ["-q", join(directory, "portcullis.mcpb"), "-d", installed],
  }).output();
  assert.ok(unpacked.success, new TextDecoder().decode(unpacked.stderr));

  const manifest = JSON.parse(await Deno.readTextFile(join(installed, "manifest.json")));
  const workspace = join(directory, "workspace");
  const settings: Record<string, string> = { "${__dirname}": installed, "${user_config.workspace}": workspace };
  for (const [name, { default: value }] of Object.entries<{ default: string }>(manifest.user_config)) {
    settings[`\${user_config.${name}}`] ??= value;
  }
  const fill = (text: string): string => text.replace(/\$\{[^}]+\}/g, (name) => settings[name] ?? assert.fail(name));
  const { command, args, env } = manifest.server.mcp_config;
  const filled = Object.entries<string>(env).map(([name, value]) => [name, fill(value)]);
  const transport = new StdioClientTransport({
    command: fill(command),
    args: args.map(fill),
    env: {
      ...Object.fromEntries(filled),
      HOME: directory,
      PATH: Deno.env.get("PATH") ?? "",
      ...(Deno.env.get("DENO_DIR") ? { DENO_DIR: Deno.env.get("DENO_DIR") ?? "" } : {}),
    },
    stderr: "ignore",
  });
  const client = new Client({ name: "desktop", version: "1" });
  await client.connect(transport);
  try {
    assert.equal(client.getServerVersion()?.name, manifest.name);
    const written = await client.callTool({ name: "file_write", arguments: { filename: "a.txt", content: "from it" } });
    assert.equal(written["isError"], false, JSON.stringify(written));
    assert.equal(await Deno.readTextFile(join(workspace, "a.txt")), "from it");
  } finally {
    await client.close();
  }
}
