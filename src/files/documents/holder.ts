/** The worker without rights that holds the thread; see thread.ts. Passes on a document, and what came of it. */
import { Worker as Thread } from "node:worker_threads";

/** Of objects. Buffers are outside of it, and are counted before they are made. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };

const thread = new Thread(new URL(import.meta.url.replace(/holder(\.\w+)$/, "thread$1")), { resourceLimits });
/** What a worker's global scope has; the type libraries of windows and workers exclude each other. */
interface Scope {
  postMessage(message: unknown): void;
  onmessage: (event: MessageEvent) => void;
}
const scope = globalThis as unknown as Scope;
thread.on("message", (message: unknown) => scope.postMessage(message));
// Deno does not always say that a thread ran out of memory: then the time runs out.
thread.on("error", () => scope.postMessage({ isOver: true }));
scope.onmessage = ({ data }) => thread.postMessage(data, [data.bytes]);
