/** Portcullis as `serve` starts it, with one trivial tool more: `echo` shows what a call costs without any work. */
import { serveProgram } from "../tests/fixtures/serve_program.ts";

await serveProgram(new URL("./server_worker.ts", import.meta.url));
