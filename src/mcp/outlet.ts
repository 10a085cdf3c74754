/** The way for the messages of a call that precede its response: the first of them turns the answer into a stream. */
import type { McpAnswer } from "./answer.ts";
import type { Call } from "./call.ts";
import type { MessageStream } from "./message_stream.ts";

/** The outlet of one call. */
export interface Outlet {
  /** Fulfilled with the streaming answer when the first message is sent before the response is there. */
  readonly opened: Promise<McpAnswer>;
  /** Whether the call lives on without its connection. */
  readonly isResumable: boolean;
  /** Sends a message; `false` when the answer cannot be a stream, the client is gone, or one that may be lost was. */
  send(text: string, mayBeLost: boolean): boolean;
  /** Opens the stream without a message. */
  open(): boolean;
  /** Ends the connection where the client can come back. */
  release(): void;
  /** The call's answer: itself, or what is left of the stream, to which the response was added. */
  finish(answer: McpAnswer): McpAnswer;
}

/** The outlet of a call; `onGone` is told when its client gives the stream up. */
export function outletOf(call: Call, onGone: () => void): Outlet {
  return call.outlet ??= createOutlet(call, onGone);
}

function createOutlet(call: Call, onGone: () => void): Outlet {
  const { promise: opened, resolve } = Promise.withResolvers<McpAnswer>();
  let stream: MessageStream | null | undefined; // undefined: not decided yet
  let answer: McpAnswer | undefined;

  const open = (): MessageStream | null => {
    if (stream !== undefined) return stream;
    const { exchange, session, runtime } = call;
    const { principal } = exchange;
    const possible = call.isSingle && principal !== null && exchange.profile.streams && exchange.acceptsStream;
    stream = possible
      ? runtime.streams.open({
        principal,
        session,
        content: "answer",
        onClosed: (abandoned) => abandoned && onGone(),
      })
      : null;
    if (stream === null) return null;
    if (session !== null && session.revision.primesStreams) stream.push("", false);
    answer = { kind: "stream", reader: stream.attach(-1) };
    resolve(answer);
    return stream;
  };

  return {
    opened,
    get isResumable() {
      return stream !== undefined && stream !== null && stream.resumeId !== null;
    },
    send: (text, mayBeLost) => open()?.push(text, mayBeLost) ?? false,
    open: () => open() !== null,
    release: () => stream?.release(),
    finish(final) {
      if (stream === undefined || stream === null || answer === undefined) {
        stream = null;
        return final;
      }
      if ("body" in final && call.outcome !== "cancelled") stream.push(final.body, false); // nobody waits for a cancelled call
      stream.end();
      return answer;
    },
  };
}
