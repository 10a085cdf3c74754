/** The worker without rights that holds the thread; see thread.ts. Passes on a document, and what came of it. */
import { Worker as Thread } from "node:worker_threads";

/** Of objects. Buffers are outside of it, and are counted before they are made. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };

const thread = new Thread(new URL(import.meta.url.replace(/holder(\.\w+)$/, "thread$1")), { resourceLimits });
/** Has both in a worker; the type libraries of windows and workers exclude each other. */
const scope = globalThis as unknown as Pick<Worker, "onmessage" | "postMessage">;
thread.on("message", (message: unknown) => scope.postMessage(message));
// Deno does not always say that a thread ran out of memory: then the time runs out.
thread.on("error", () => scope.postMessage({ isOver: true }));
scope.onmessage = ({ data }) => thread.postMessage(data, [data.bytes]);
