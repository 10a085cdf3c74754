/** The worker of {@link ./server.ts}: the server with one trivial tool more. */
import * as z from "zod";
import { runServerInWorker } from "../src/app/run_in_worker.ts"; // first: it gives up the right to load libraries
import { defineTool } from "../src/mcp/tool.ts";

runServerInWorker([
  defineTool({
    name: "echo",
    title: "Echo",
    description: "Answers with the text it was given.",
    scopes: ["files:read"],
    annotations: { readOnlyHint: true },
    input: z.object({ text: z.string().describe("What to answer with") }),
    run: ({ text }) => ({ ok: true, content: [{ type: "text", text }] }),
  }),
]);
