/** The module of the worker that runs the server with its own tools only. */
import "../../sandbox/workspace_kernel.ts"; // before all else
import { runServerInWorker } from "./run_in_worker.ts";

runServerInWorker([]);
