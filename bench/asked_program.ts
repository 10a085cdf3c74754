/** A program that is started and asked in MCP, over HTTP or over its standard input and output. */

/** What is started, and how it is asked. */
export interface Subject {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly transport: "http" | "stdio";
  readonly token?: string;
  /** What it is asked again and again. */
  readonly call: { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> };
}

/** A started one. */
export interface AskedProgram {
  readonly pid: number;
  /** Sends a request and waits for its result. Throws for any other answer. */
  ask(method: string, params: unknown): Promise<void>;
  stop(): Promise<void>;
}

/** What a client says first. */
export const handshake = {
  protocolVersion: "2025-06-18", // known to every one of them
  capabilities: {},
  clientInfo: { name: "bench", version: "1" },
};

/** Starts it. A server over HTTP prints its address when it can be asked. */
export async function startProgram(subject: Subject): Promise<AskedProgram> {
  const { command, args, cwd, env, transport } = subject;
  const child = new Deno.Command(command, {
    args: [...args],
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
    stdin: transport === "stdio" ? "piped" : "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const lines = readLines(child.stdout);
  const ask = transport === "stdio" ? askByLines(child, lines) : askByHttp(await addressIn(subject, lines), subject);
  let requests = 0;
  return {
    pid: child.pid,
    async ask(method, params) {
      const id = ++requests;
      const answer = await ask({ jsonrpc: "2.0", id, method, params });
      if (!answer.includes(`"result":`) || answer.includes(`"isError":true`)) {
        throw new Error(`${subject.name} answered ${method} with ${answer.slice(0, 500)}`);
      }
    },
    async stop() {
      child.kill("SIGTERM");
      await child.status;
      await lines.cancel();
      if (transport === "stdio") await child.stdin.abort().catch(() => {}); // it is gone already
    },
  };
}

interface Message {
  readonly jsonrpc: "2.0";
  readonly id: number;
  readonly method: string;
  readonly params: unknown;
}

interface Lines {
  next(): Promise<string>;
  cancel(): Promise<void>;
}

function readLines(stream: ReadableStream<Uint8Array>): Lines {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  return {
    async next() {
      for (;;) {
        const end = text.indexOf("\n");
        if (end >= 0) {
          const line = text.slice(0, end);
          text = text.slice(end + 1);
          return line;
        }
        const { value, done } = await reader.read();
        if (done) throw new Error("the program ended");
        text += value;
      }
    },
    cancel: () => reader.cancel(),
  };
}

async function addressIn({ name }: Subject, lines: Lines): Promise<string> {
  const address = /http:\/\/\S+/.exec(await lines.next())?.[0];
  if (address === undefined) throw new Error(`${name} did not say where it listens`);
  return address;
}

function askByHttp(address: string, { token }: Subject): (message: Message) => Promise<string> {
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": handshake.protocolVersion,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  return async (message) => {
    const response = await fetch(`${address}/mcp`, { method: "POST", headers, body: JSON.stringify(message) });
    return await response.text();
  };
}

function askByLines(child: Deno.ChildProcess, lines: Lines): (message: Message) => Promise<string> {
  const writer = child.stdin.getWriter();
  const encoder = new TextEncoder();
  return async (message) => {
    await writer.write(encoder.encode(`${JSON.stringify(message)}\n`));
    for (;;) {
      const line = await lines.next();
      if (JSON.parse(line).id === message.id) return line; // what else comes are notifications
    }
  };
}
