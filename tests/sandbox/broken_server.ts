/** Portcullis with the tools of {@link ./broken_worker.ts}, started as `serve` starts it. */
import { serveProgram } from "../fixtures/serve_program.ts";

await serveProgram(new URL("./broken_worker.ts", import.meta.url));
