/** What the main thread and the server's worker say to each other. */
import type { FetchDocument } from "../lib/document_fetcher.ts";
import type { Config } from "./config/config.ts";
import type { ServerReport } from "./metrics_listener.ts";
import type { Team } from "./running_server.ts";

/** Which of several workers one is; `null` for the only one. */
export type Seat = Pick<Team, "isFirst" | "opensPort"> | null;

export type ToWorker =
  /** Once, as the answer to `loaded`. */
  | {
    readonly kind: "start";
    readonly config: Config;
    readonly seat: Seat;
    readonly preferredPort: number;
    readonly program: string;
  }
  /** The answer to `fetch_document`. */
  | { readonly kind: "document"; readonly id: number; readonly document: Awaited<ReturnType<FetchDocument>> }
  /** Answer `report`. */
  | { readonly kind: "report"; readonly id: number }
  /** The answer to `gather_reports`. */
  | { readonly kind: "reports"; readonly id: number; readonly reports: readonly ServerReport[] }
  /** The answer to `log`. */
  | { readonly kind: "logged"; readonly id: number; readonly isWritten: boolean }
  /** Finish what is in flight, close everything, answer `stopped`. */
  | { readonly kind: "stop" };

export interface Ready {
  readonly kind: "ready";
  readonly serverUrl: string;
  readonly port: number;
  readonly setUpLink: string | null;
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
  /** Whole lines of the log. Only the main thread writes them, so that those of several threads never mix. */
  | { readonly kind: "log"; readonly id: number; readonly lines: Uint8Array<ArrayBuffer> }
  /** Wants the reports of all workers. */
  | { readonly kind: "gather_reports"; readonly id: number }
  | { readonly kind: "report"; readonly id: number; readonly report: ServerReport | null }
  | Ready
  | Refused
  | Failed
  | Stopped;

/** Questions that were posted to another thread, waiting for their answers. */
interface PendingAnswers<Answer> {
  /** Posts a question with a number of its own; its answer never comes where the other thread ends first. */
  ask(post: (id: number) => void): Promise<Answer>;
  answer(id: number, answer: Answer): void;
}

export function createPendingAnswers<Answer>(): PendingAnswers<Answer> {
  const pending = new Map<number, (answer: Answer) => void>();
  let asked = 0;
  return {
    ask: (post) =>
      new Promise((resolve) => {
        pending.set(++asked, resolve);
        post(asked);
      }),
    answer(id, answer) {
      pending.get(id)?.(answer);
      pending.delete(id);
    },
  };
}
