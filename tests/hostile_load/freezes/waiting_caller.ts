/** A worker that pings and reads as an ordinary client does, on a thread of its own, and says how long it waited. */

/** What it is started with. */
export interface WaitingOrder {
  readonly url: string;
  readonly token: string;
  readonly filename: string;
  /** Another process on the same machine: what that takes is the machine's part. */
  readonly controlUrl: string;
}

/** The longest waits since it was last asked, in milliseconds. */
export interface Waits {
  readonly worst: number;
  readonly control: number;
  readonly calls: number;
  /** Answers that an ordinary client does not want. */
  readonly wrong: readonly string[];
}

interface WorkerScope {
  onmessage: ((event: MessageEvent<WaitingOrder | "report">) => void) | null;
  postMessage(waits: Waits): void;
}

const pauseMs = 5;
const scope = globalThis as unknown as WorkerScope;
let asked = 0;

scope.onmessage = ({ data }) => {
  if (data === "report") asked++;
  else void callOn(data);
};

async function callOn({ url, token, filename, controlUrl }: WaitingOrder): Promise<never> {
  const headers = { "content-type": "application/json", accept: "application/json", authorization: `Bearer ${token}` };
  const post = (method: string, params?: unknown): Promise<Response> =>
    fetch(`${url}/mcp`, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }) });
  const ping = () => post("ping");
  const read = () => post("tools/call", { name: "file_read", arguments: { filename } });
  for (;;) {
    const waits = { worst: 0, control: 0, calls: 0, wrong: new Set<string>() };
    // at least one call begins after the question, so that it waits for whatever was sent before
    for (let left = 2; left > 0; left = asked > 0 ? left - 1 : left) {
      waits.control = Math.max(waits.control, await timed(() => fetch(controlUrl), waits.wrong));
      waits.worst = Math.max(waits.worst, await timed(waits.calls++ % 2 === 0 ? ping : read, waits.wrong));
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    asked--;
    scope.postMessage({ ...waits, wrong: [...waits.wrong] });
  }
}

async function timed(ask: () => Promise<Response>, wrong: Set<string>): Promise<number> {
  const started = performance.now();
  try {
    const response = await ask();
    const text = await response.text();
    if (response.status !== 200 || text.includes('"isError":true')) {
      wrong.add(`${response.status} ${text.slice(0, 100)}`);
    }
  } catch (error) {
    wrong.add(String(error).slice(0, 100));
  }
  return performance.now() - started;
}
