/** A server in a process of its own, loaded for some seconds, with the CPU time that it took for each request. */
import { fileURLToPath } from "node:url";
import { runCommand, type ServerPlace } from "../tests/fixtures/running_server.ts";
import { load, type LoadRequest, type LoadResult } from "./http_load.ts";
import { cpuSeconds } from "./process_cpu.ts";

/** How many connections the load keeps busy. */
export const connections = 32;

/** A started server. */
export interface MeasuredServer {
  readonly port: number;
  readonly child: Deno.ChildProcess;
}

/** One round of load. */
export interface Measure extends LoadResult {
  /** User and system time of the server for each request; `null` where the system does not tell. */
  readonly cpuMicroseconds: number | null;
}

/** The command line that runs a script of this directory. */
export function denoScript(script: string): readonly string[] {
  return [Deno.execPath(), "run", "--allow-all", fileURLToPath(new URL(script, import.meta.url))];
}

/** The settings of Portcullis under load: everything on, with a rate limit that counts and never refuses. */
export function serverEnvironment({ dataDir, workspaceDir }: ServerPlace): Record<string, string> {
  return { DATA_DIR: dataDir, WORKSPACE_DIR: workspaceDir, PORT: "0", MCP_RATE_LIMIT: "1000000000" };
}

/** Starts a server that prints its address within its first line. */
export async function startServer(
  [command = "", ...args]: readonly string[],
  options: { readonly env?: Record<string, string>; readonly cwd?: string } = {},
): Promise<MeasuredServer> {
  const child = new Deno.Command(command, { args, ...options, stdin: "null", stdout: "piped", stderr: "null" }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`it did not start: ${args.at(-1)}`);
    text += value;
  }
  reader.releaseLock();
  return { port: Number(/:(\d+)\s/.exec(text)?.[1]), child };
}

/** Ends a server and waits until it is gone. */
export async function endServer({ child }: MeasuredServer): Promise<void> {
  child.kill("SIGTERM");
  await child.status;
}

/** Loads a server. Rejects at the first wrong answer. */
export async function measure(
  { port, child }: MeasuredServer,
  request: LoadRequest | readonly LoadRequest[],
  seconds: number,
): Promise<Measure> {
  const before = cpuSeconds(child.pid);
  const result = await load(port, request, { connections, seconds });
  const after = cpuSeconds(child.pid);
  const cpuMicroseconds = before === null || after === null ? null : (after - before) / result.requests * 1e6;
  return { ...result, cpuMicroseconds };
}

/** Makes an access token for the server that will run in this place. */
export async function makeToken({ dataDir }: Pick<ServerPlace, "dataDir">): Promise<string> {
  const { code, stdout, stderr } = await runCommand(
    ["token", "create", "--scope", "files:read", "--data-dir", dataDir],
  );
  if (code !== 0) throw new Error(stderr);
  return stdout.trim();
}
