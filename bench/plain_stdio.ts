/**
 * A client over stdio that only waits for the end of the line that answers it. The official SDK's client copies what has
 * come of a message with each piece that arrives, so that of a large answer it measures mostly itself.
 */

/** A started server that was greeted. */
export interface PlainClient extends AsyncDisposable {
  readonly pid: number;
  /** Calls a tool and gives the size of the whole answer in bytes; throws when it is an error. */
  call(name: string, input: Record<string, unknown>): Promise<number>;
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
  const receive = async (): Promise<number> => {
    for (let bytes = 0, start = "";;) {
      const { value, done } = await reader.read();
      if (done) throw new Error("the server ended");
      if (bytes === 0) start = new TextDecoder().decode(value.subarray(0, 200));
      bytes += value.byteLength;
      if (value.at(-1) !== newline) continue;
      if (!start.includes('"result"') || start.includes('"isError":true')) throw new Error(`it failed: ${start}`);
      return bytes;
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
