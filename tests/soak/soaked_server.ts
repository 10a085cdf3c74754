/** The real server under the soak: killed with SIGKILL, started again at the same address, asked without repetitions. */
import type { Bounds } from "../../src/app/installation.ts";
import { type RunningServer, type ServerPlace, spawnServer, startServer } from "../fixtures/running_server.ts";
import { Cut } from "./actor.ts";

/** A server with many lives. */
export interface SoakedServer extends AsyncDisposable {
  readonly url: string;
  readonly place: ServerPlace;
  readonly env: Readonly<Record<string, string>>;
  /** The process that runs now, or the last one. */
  readonly pid: () => number;
  readonly setUpLink: () => string | null;
  /** Waits until the server is up, asks once, and gives the answer with its whole body. Throws {@link Cut}. */
  readonly fetch: (input: string | URL, init?: RequestInit) => Promise<Response>;
  /** The same, with the body as it comes; reading it may end at any moment. */
  readonly open: (input: string | URL, init?: RequestInit) => Promise<Response>;
  /** Kills it. Before the start that lasts, it may be killed while it starts, so many milliseconds after its spawn. */
  readonly kill: (startKillsMilliseconds: readonly number[]) => Promise<void>;
  /** Ends it in good order; gives the exit status. */
  readonly stop: () => Promise<Deno.CommandStatus>;
}

interface Life {
  readonly running: RunningServer;
  killed: boolean;
}

/** Starts it. `onLog` gets what a life wrote to its standard error, when it is over. */
export async function startSoakedServer(
  place: ServerPlace,
  options: {
    readonly port: number;
    readonly env: Readonly<Record<string, string>>;
    readonly bounds: Bounds;
    readonly onLog: (text: string) => void;
    /** Kills during the very first starts, while the installation is made. */
    readonly startKillsMilliseconds: readonly number[];
  },
): Promise<SoakedServer> {
  const { port, env, onLog } = options;
  const start = { env: { ...env, PORT: String(port) }, bounds: options.bounds };
  // Deno's fetch repeats a POST by itself when a kept connection breaks: the ledger could not tell once from twice.
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const killDuringStart = async (milliseconds: number): Promise<void> => {
    const child = spawnServer(place, start);
    let ended = false;
    const output = child.output().finally(() => ended = true);
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    if (!ended) child.kill("SIGKILL");
    const { signal, stderr } = await output;
    if (signal !== "SIGKILL") throw new Error(`a start ended by itself: ${new TextDecoder().decode(stderr)}`);
  };
  const begin = async (startKills: readonly number[]): Promise<Life> => {
    for (const milliseconds of startKills) await killDuringStart(milliseconds);
    const running = await startServer(place, start);
    return { running, killed: false };
  };
  let life = await begin(options.startKillsMilliseconds);
  const ended = Promise.reject(new Error("the server has ended for good"));
  ended.catch(() => {}); // whoever asks on hears of it
  let up: Promise<void> = ended;
  const ask = async <T>(input: string | URL, init: RequestInit, read: (response: Response) => Promise<T>) => {
    while (life.killed) await up;
    const asked = life;
    try {
      return await read(await fetch(input, { ...init, client }));
    } catch (error) {
      if (asked.killed) throw new Cut();
      throw new Error(`the connection failed though nobody killed the server: ${input}`, { cause: error });
    }
  };
  const end = async (signal: Deno.Signal): Promise<Deno.CommandStatus> => {
    if (signal === "SIGTERM") up = ended;
    life.killed = true; // first: whoever is cut off is to know why
    const status = await life.running.stop(signal);
    onLog(life.running.stderr());
    return status;
  };
  return {
    url: life.running.url,
    place,
    env,
    pid: () => life.running.pid,
    setUpLink: () => life.running.setUpLink,
    fetch: (input, init = {}) =>
      ask(input, init, async (response) => {
        const { status, headers } = response;
        const body = await response.arrayBuffer();
        return new Response(body.byteLength === 0 ? null : body, { status, headers });
      }),
    open: (input, init = {}) => ask(input, init, (response) => Promise.resolve(response)),
    async kill(startKills) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      promise.catch(() => {}); // whoever waits hears of it
      up = promise;
      try {
        await end("SIGKILL");
        life = await begin(startKills);
        resolve();
      } catch (error) {
        reject(error);
        throw error;
      }
    },
    stop: () => end("SIGTERM"),
    async [Symbol.asyncDispose]() {
      if (!life.killed) await end("SIGTERM");
      client.close();
    },
  };
}
