/**
 * The way for what a call sends before its response is there: messages, of which the first turns the answer into a
 * stream, or only the beginning of the answer, without which the loss of the connection would not be noticed.
 */
import type { McpAnswer } from "./answer.ts";
import type { Call, Outlet } from "./call.ts";
import { type MessageStream, openMessageStream } from "./message_stream.ts";

type BegunAnswer = Extract<McpAnswer, { kind: "stream" | "late_json" }>;

/** Whether a call goes on when its connection is lost. */
export function outlivesConnection({ revision, exchange }: Call): boolean {
  return !revision.disconnectCancels && exchange.canComeBack;
}

/** The outlet of a call; `onGone` is told when its client gives the stream up. */
export function outletOf(call: Call, onGone: () => void): Outlet {
  return call.outlet ??= createOutlet(call, onGone);
}

function createOutlet(call: Call, onGone: () => void): Outlet {
  const onClosed = (abandoned: boolean): void => abandoned ? onGone() : undefined;
  let begun: { readonly answer: BegunAnswer; readonly stream: MessageStream } | null = null;
  let isFinished = false;

  const start = (kind: BegunAnswer["kind"], stream: MessageStream): MessageStream => {
    begun = { answer: { kind, reader: stream.attach(-1) }, stream };
    call.beginAnswer(begun.answer);
    return stream;
  };
  const open = (): MessageStream | null => {
    if (begun !== null) return begun.answer.kind === "stream" ? begun.stream : null;
    const { exchange, principal, session, runtime } = call;
    if (isFinished || !call.isSingle || !exchange.profile.streams || !exchange.acceptsStream) return null;
    const endsWithConnection = !outlivesConnection(call);
    const { id: requestId } = call.request;
    const stream = runtime.streams.open({
      principal,
      session,
      content: "answer",
      requestId,
      endsWithConnection,
      onClosed,
    });
    if (stream === null) return null;
    if (session !== null && session.revision.primesStreams) stream.push("", false);
    return start("stream", stream);
  };

  return {
    get isStreaming() {
      return begun !== null;
    },
    send: (text, mayBeLost) => open()?.push(text, mayBeLost) ?? false,
    begin() {
      if (open() !== null || begun !== null || isFinished || !call.isSingle || outlivesConnection(call)) return;
      const { timers } = call.runtime;
      start("late_json", openMessageStream({ maxFrames: 1, resumeId: null, detachedMs: 0, onClosed, timers }));
    },
    release: () => open()?.release(),
    finish(final) {
      isFinished = true;
      if (begun === null) return final;
      const { answer, stream } = begun;
      // A cancelled call gets no response, but a body of JSON has to be JSON.
      if ("body" in final && (call.outcome !== "cancelled" || answer.kind === "late_json")) {
        stream.push(final.body, false);
      }
      stream.end();
      return answer;
    },
  };
}
