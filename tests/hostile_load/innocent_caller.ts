/** A worker that calls the server as an ordinary client does, on a thread of its own, and measures how long it waits. */

/** What it is started with. */
export interface InnocentOrder {
  readonly url: string;
  readonly token: string;
  readonly filename: string;
  /** An idle server on the same machine: what it takes to answer is the machine's part. */
  readonly idleUrl: string;
}

/** What it saw. */
export interface InnocentReport {
  readonly answers: number;
  readonly slowestMilliseconds: number;
  readonly slowestCall: string;
  /** Milliseconds that 99 of 100 calls stay below. */
  readonly p99Milliseconds: number;
  /** The same of the idle server. */
  readonly idleP99Milliseconds: number;
  readonly idleSlowestMilliseconds: number;
  /** Answers that were not what an ordinary client wants, by what they were. */
  readonly wrong: Readonly<Record<string, number>>;
}

interface WorkerScope {
  onmessage: ((event: MessageEvent<InnocentOrder | "stop">) => void) | null;
  postMessage(report: InnocentReport): void;
}

const pauseMs = 20;
const scope = globalThis as unknown as WorkerScope;
let isStopping = false;

scope.onmessage = ({ data }) => {
  if (data === "stop") isStopping = true;
  else callUntilStopped(data).then((report) => scope.postMessage(report));
};

async function callUntilStopped({ url, token, filename, idleUrl }: InnocentOrder): Promise<InnocentReport> {
  const post = (method: string, params?: unknown): Promise<Response> =>
    fetch(`${url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
  const calls: Record<string, () => Promise<Response>> = {
    live: () => fetch(`${url}/health/live`),
    ping: () => post("ping"),
    file_read: () => post("tools/call", { name: "file_read", arguments: { filename } }),
    tools_list: () => post("tools/list"),
  };
  const times: number[] = [];
  const idleTimes: number[] = [];
  const wrong: Record<string, number> = {};
  let slowest = 0;
  let slowestCall = "";
  while (!isStopping) {
    const asked = performance.now();
    await (await fetch(idleUrl)).body?.cancel();
    idleTimes.push(performance.now() - asked);
    for (const [name, ask] of Object.entries(calls)) {
      const started = performance.now();
      let said = "";
      try {
        const response = await ask();
        const text = await response.text();
        if (response.status !== 200 || text.includes('"isError":true')) {
          said = `${response.status} ${text.slice(0, 100)}`;
        }
      } catch (error) {
        said = String(error).slice(0, 100);
      }
      const took = performance.now() - started;
      if (said !== "") wrong[`${name}: ${said}`] = (wrong[`${name}: ${said}`] ?? 0) + 1;
      times.push(took);
      if (took > slowest) [slowest, slowestCall] = [took, name];
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  times.sort((a, b) => a - b);
  idleTimes.sort((a, b) => a - b);
  return {
    answers: times.length,
    slowestMilliseconds: slowest,
    slowestCall,
    p99Milliseconds: times[Math.floor(times.length * 0.99)] ?? 0,
    idleP99Milliseconds: idleTimes[Math.floor(idleTimes.length * 0.99)] ?? 0,
    idleSlowestMilliseconds: idleTimes.at(-1) ?? 0,
    wrong,
  };
}
