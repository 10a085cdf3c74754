/** The protocol server: takes one parsed body and says what to answer. It knows no HTTP beyond statuses. */
import { createBodyHandler, createPublicHandshake } from "./body_handler.ts";
import { createMessageHandler, createRequestObserver } from "./message_handler.ts";
import { createMethodTable } from "./methods.ts";
import { createModernRevision } from "./revision.ts";
import { createSessionStreams } from "./notice_streams.ts";
import { createRuntime, type McpServerOptions } from "./runtime.ts";

/** The protocol, for a transport: HTTP and stdio share one. */
export type McpServer = ReturnType<typeof createMcpServer>;

/**
 * Makes the server. It opens nothing and begins no timer before the first request; `close` ends what is open by then.
 */
export function createMcpServer(options: McpServerOptions) {
  const runtime = createRuntime(options);
  const { tools, prompts, resources, changes, streams, tasks, enders, stopping } = runtime;
  const hurry = (): void => stopping.abort(new DOMException("the server stops", "AbortError"));
  const sessionStreams = createSessionStreams(runtime);
  const methods = createMethodTable(runtime, sessionStreams.follow);
  const observe = createRequestObserver(runtime, (name) => methods.has(name));
  const modern = createModernRevision(options.serverInfo);
  const stopListening = [
    tools.onChange(() => changes.publish({ kind: "tools" })),
    prompts.onChange(() => changes.publish({ kind: "prompts" })),
    resources.onChange(() => changes.publish({ kind: "resources" })),
  ];

  return {
    /** Answers one parsed body. Rejects only when the storage is lost. */
    handle: createBodyHandler(runtime, modern, createMessageHandler(runtime, methods, observe)),
    /** Answers one parsed body of a caller without a token: the public part of the handshake. */
    handlePublic: createPublicHandshake(runtime, modern, observe),
    /** Answers HTTP's GET: a stream of notices for a legacy session. */
    openStream: sessionStreams.open,
    /** Answers HTTP's DELETE: the end of a legacy session. */
    endSession: sessionStreams.end,
    get openStreams() {
      return streams.size;
    },
    /** Ends the streams that last: calls that run go on. */
    drain() {
      for (const end of [...enders]) end();
    },
    /** Asks the calls that run to answer now with what they have. */
    hurry,
    /** Gives up everything that is still open; resolves when the tasks that ran are stored as cancelled. */
    async close() {
      hurry();
      for (const stop of stopListening) stop();
      streams.abandonAll();
      await tasks.close();
    },
  };
}
