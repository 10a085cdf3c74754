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
  /** The answer to a question: see {@link Answers}. */
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answers[keyof Answers] }
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

/** What the worker asks the main thread for, by the kind of the question. */
export type Question =
  /** A client named itself by this URL: the worker may not connect there, the main thread may, and checks where to. */
  | { readonly kind: "fetch_document"; readonly url: string; readonly asker: string }
  /** A request to the company's provider, whose hosts the main thread knows by its metadata. */
  | { readonly kind: "ask_provider"; readonly question: ProviderQuestion }
  /** Whole lines of the log, which the main thread writes. */
  | { readonly kind: "log"; readonly lines: Uint8Array<ArrayBuffer> };

export interface Answers {
  readonly fetch_document: Awaited<ReturnType<FetchDocument>>;
  readonly ask_provider: ProviderReply;
  /** Whether they are written. */
  readonly log: boolean;
}

export type FromWorker =
  /** Its code is loaded: from now on no permission to load any is needed. */
  | { readonly kind: "loaded" }
  | (Question & { readonly id: number })
  /** The first client that connected, as it calls itself. */
  | { readonly kind: "connected"; readonly name: string }
  | Ready
  | Refused
  | Failed
  | Stopped;
