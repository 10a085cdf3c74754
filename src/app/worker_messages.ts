/** Messages between the main thread and the server's worker. */
import type { FetchDocument } from "../lib/document_fetcher.ts";
import type { ProviderQuestion, ProviderReply } from "./provider_gateway.ts";
import type { Config } from "./config/config.ts";
import type { RunningServer } from "./running_server.ts";

export type ToWorker =
  /** Once, as the answer to `loaded`. */
  | {
    readonly kind: "start";
    readonly config: Config;
    readonly preferredPort: number;
    readonly program: string;
  }
  /** The answer to `fetch_document`. */
  | { readonly kind: "document"; readonly id: number; readonly document: Awaited<ReturnType<FetchDocument>> }
  /** The answer to `ask_provider`. */
  | { readonly kind: "provider_reply"; readonly id: number; readonly reply: ProviderReply }
  /** The answer to `log`. */
  | { readonly kind: "logged"; readonly id: number; readonly isWritten: boolean }
  /** Finish what is in flight, close everything, answer `stopped`. */
  | { readonly kind: "stop" };

export interface Ready extends Omit<RunningServer, "stop"> {
  readonly kind: "ready";
}

/** The server cannot run, for a reason that was foreseen: `error:` and `hint:` lines. */
export interface Refused {
  readonly kind: "refused";
  readonly text: string;
}

export interface Failed {
  readonly kind: "failed";
  readonly reason: string;
}

/** The server has ended because it was told to. */
export interface Stopped {
  readonly kind: "stopped";
}

export type FromWorker =
  /** Its code is loaded: from now on no permission to load any is needed. */
  | { readonly kind: "loaded" }
  /** A client named itself by this URL: the worker may not connect there, the main thread may, and checks where to. */
  | { readonly kind: "fetch_document"; readonly id: number; readonly url: string; readonly asker: string }
  /** A request to the company's provider, whose hosts the main thread knows by its metadata. */
  | { readonly kind: "ask_provider"; readonly id: number; readonly question: ProviderQuestion }
  /** A person takes out a directory that was added to the workspace. */
  | { readonly kind: "take_out"; readonly name: string }
  /** Whole lines of the log, which the main thread writes. */
  | { readonly kind: "log"; readonly id: number; readonly lines: Uint8Array<ArrayBuffer> }
  /** The first client that connected, as it calls itself. */
  | { readonly kind: "connected"; readonly name: string }
  | Ready
  | Refused
  | Failed
  | Stopped;

/** Questions that were posted to another thread, waiting for their answers. */
export function createPendingAnswers<Answer>() {
  const pending = new Map<number, (answer: Answer) => void>();
  let asked = 0;
  return {
    /** Posts a numbered question. If the other thread ends first, the answer never comes. */
    ask: (post: (id: number) => void): Promise<Answer> =>
      new Promise((resolve) => {
        pending.set(++asked, resolve);
        post(asked);
      }),
    answer(id: number, answer: Answer): void {
      pending.get(id)?.(answer);
      pending.delete(id);
    },
  };
}
