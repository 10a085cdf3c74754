/** A web of the tests' own: names, addresses and TLS listeners on loopback, and a record of every connection. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  createDocumentFetcher,
  createInternet,
  type FetchDocument,
  type Network,
} from "../../src/lib/document_fetcher.ts";

const fixture = (name: string) => readFileSync(fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url)), "utf8");
const certificate = { cert: fixture("server.pem"), key: fixture("server.key.pem") };

export interface TestNetwork extends AsyncDisposable {
  readonly network: Network;
  /** What each resolution of a name gives, in turn; the last one stays. */
  readonly names: Map<string, string[][]>;
  /** Addresses that were connected to. */
  readonly connected: string[];
  /** Requests that arrived, by their first line. */
  readonly requests: string[];
  /** Answers by path; raw bytes are written as they are. */
  readonly answers: Map<string, (write: (text: string | Uint8Array) => Promise<void>) => Promise<void>>;
  /** Addresses at which nothing answers. */
  readonly dead: Set<string>;
  /** The fetcher's clock. */
  readonly time: { now: number };
  publish(path: string, json: unknown, headers?: Record<string, string>): void;
  fetcher(options?: Parameters<typeof createDocumentFetcher>[2]): FetchDocument;
}

export const publicAddress = "93.184.216.34";

export function openTestNetwork(): TestNetwork {
  const listener = Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...certificate });
  const names: TestNetwork["names"] = new Map([["app.example.com", [[publicAddress]]]]);
  const connected: string[] = [];
  const requests: string[] = [];
  const answers: TestNetwork["answers"] = new Map();
  const dead = new Set<string>();
  const time = { now: 0 };
  const internet = createInternet(fixture("ca.pem"));
  const serving = serve(listener, requests, answers);
  const network: Network = {
    resolve(host) {
      const turns = names.get(host);
      const addresses = turns === undefined ? [] : turns.length > 1 ? turns.shift() : turns[0];
      return addresses === undefined || addresses.length === 0
        ? Promise.reject(new Error("NXDOMAIN"))
        : Promise.resolve(addresses);
    },
    async get(options) {
      connected.push(options.host ?? "");
      if (dead.has(options.host ?? "")) throw new Deno.errors.ConnectionRefused();
      return await internet.get({ ...options, host: "127.0.0.1", port: listener.addr.port });
    },
  };
  return {
    names,
    connected,
    requests,
    answers,
    dead,
    time,
    publish(path, json, headers = {}) {
      const body = typeof json === "string" ? json : JSON.stringify(json);
      const head = {
        "content-type": "application/json",
        "content-length": String(new TextEncoder().encode(body).length),
        ...headers,
      };
      const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`).join("");
      answers.set(path, (write) => write(`HTTP/1.1 200 OK\r\n${lines}\r\n${body}`));
    },
    network,
    fetcher: (options) => createDocumentFetcher(network, () => time.now, options),
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
    },
  };
}

async function serve(
  listener: Deno.TlsListener,
  requests: string[],
  answers: TestNetwork["answers"],
): Promise<void> {
  const running: Promise<void>[] = [];
  for (;;) {
    let connection: Deno.TlsConn;
    try {
      connection = await listener.accept();
    } catch (error) {
      if (error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted) break;
      continue; // a handshake that failed
    }
    running.push(answer(connection, requests, answers));
  }
  await Promise.all(running);
}

async function answer(connection: Deno.TlsConn, requests: string[], answers: TestNetwork["answers"]): Promise<void> {
  try {
    const buffer = new Uint8Array(4_096);
    const count = await connection.read(buffer) ?? 0;
    const [line = ""] = new TextDecoder().decode(buffer.subarray(0, count)).split("\r\n");
    if (line === "") return;
    requests.push(line);
    const reply = answers.get(line.split(" ")[1] ?? "");
    const write = async (text: string | Uint8Array): Promise<void> => {
      const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
      for (let offset = 0; offset < bytes.length;) offset += await connection.write(bytes.subarray(offset));
    };
    await (reply?.(write) ?? write("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"));
  } catch {
    // the fetcher hung up
  } finally {
    connection.close();
  }
}
