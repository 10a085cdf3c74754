/**
 * The module of the worker that runs the server with its own tools only. The rest is imported when the way to the
 * workspace is there: a bundle keeps this order between its files, but not that of the imports in one.
 */
import "./sandbox/workspace_kernel.ts";

const { runServerInWorker } = await import("./run_in_worker.ts");
runServerInWorker([]);
