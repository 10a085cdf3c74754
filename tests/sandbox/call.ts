/** Calls to the server whose tools are broken. */
import assert from "node:assert/strict";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { runCommand, type RunningServer } from "../fixtures/running_server.ts";

/** A token for the tools of {@link ./broken_worker.ts}. */
export async function createToken(
  dataDir: string,
  scope = "files:read",
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, stdout, stderr } = await runCommand([
    "token",
    "create",
    "--scope",
    scope,
    "--data-dir",
    dataDir,
  ], { env });
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

/** Calls a tool and gives its text. */
export async function call(
  server: RunningServer,
  token: string,
  name: string,
  input: Record<string, unknown>,
): Promise<string> {
  const response = await postMcp(server.url, toolCall(name, input), { token });
  assert.equal(response.status, 200);
  const { result } = await response.json();
  return result.content[0]?.text ?? "";
}
