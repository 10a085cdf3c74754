/** Starts server_process.ts over a harness's database. */
import { fileURLToPath } from "node:url";
import { type Harness, issuer, ownerPasswordHash } from "./harness.ts";

export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  /** Settles when the process has ended. */
  readonly ended: Promise<unknown>;
  post(path: string, form: Record<string, string>): Promise<{ status: number; body: Record<string, string> }>;
}

export async function spawnServer(
  harness: Harness,
  dieAt?: { readonly commit: number; readonly when: "before" | "after" },
): Promise<ServerProcess> {
  const settings = {
    databasePath: harness.databasePath,
    masterKey: harness.masterKey.toHex(),
    issuer,
    now: harness.time.now,
    ownerPasswordHash,
    ...(dieAt === undefined ? {} : { dieAt }),
  };
  const script = fileURLToPath(new URL("./server_process.ts", import.meta.url));
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--no-check", script, JSON.stringify(settings)],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  const url = `http://127.0.0.1:${new TextDecoder().decode(value).trim()}`;
  return {
    url,
    ended: child.status,
    async post(path, form) {
      const response = await fetch(`${url}${path}`, { method: "POST", body: new URLSearchParams(form) });
      const text = await response.text();
      return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
    },
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGKILL");
      } catch {
        // it has ended already
      }
      await child.status;
      await reader.cancel();
    },
  };
}
