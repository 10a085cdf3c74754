/**
 * A client over stdio that only waits for the end of the line that answers it. The official SDK's client copies what has
 * come of a message with each piece that arrives, so that of a large answer it measures mostly itself.
 */

/** A started server that was greeted. */
export interface PlainClient extends AsyncDisposable {
  readonly pid: number;
  /** Calls a tool and returns the answer's whole message as it came; throws when it is an error. */
  call(name: string, input: Record<string, unknown>): Promise<readonly Uint8Array[]>;
}

const newline = 10;

/** Starts a server and greets it. */
export async function connectPlainly(
  command: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<PlainClient> {
  const child = new Deno.Command(command, { args: [...args], env, stdin: "piped", stdout: "piped", stderr: "null" })
    .spawn();
  const writer = child.stdin.getWriter();
  const reader = child.stdout.getReader();
  const encoder = new TextEncoder();
  const send = (message: Record<string, unknown>): Promise<void> =>
    writer.write(encoder.encode(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`));
  const receive = async (): Promise<readonly Uint8Array[]> => {
    for (let pieces: Uint8Array[] = [];;) {
      const { value, done } = await reader.read();
      if (done) throw new Error("the server ended");
      pieces.push(value);
      if (value.at(-1) !== newline) continue;
      const start = new TextDecoder().decode(pieces[0]?.subarray(0, 400));
      if (start.includes('"method":"notifications/') && !start.includes('"result"')) {
        pieces = [];
        continue;
      }
      if (!start.includes('"result"') || start.includes('"isError":true')) throw new Error(`it failed: ${start}`);
      return pieces;
    }
  };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "0" } };
  await send({ id: 0, method: "initialize", params });
  await receive();
  await send({ method: "notifications/initialized" });
  let id = 0;
  return {
    pid: child.pid,
    async call(name, input) {
      await send({ id: ++id, method: "tools/call", params: { name, arguments: input } });
      return await receive();
    },
    async [Symbol.asyncDispose]() {
      await writer.close();
      await reader.cancel();
      await child.status;
    },
  };
}
