/** What a running tool sees of its call. Everything that costs is made on first use. */
import type { Principal } from "../lib/principal.ts";
import type { Exchange } from "./exchange.ts";
import type { ProgressUpdate, ToolContext } from "./tool.ts";

/** A {@link ToolContext} with the two things that the caller of the tool does to it. */
export interface RunningContext extends ToolContext {
  /** Aborts the tool's signal. */
  abort(reason: DOMException): void;
  /** Ends the call: what happens to the connection from here on is no cancellation. */
  end(): void;
}

/** Makes the context of one call. */
export function createToolContext(exchange: Exchange, principal: Principal): RunningContext {
  return new CallContext(exchange, principal);
}

/** A class, since a closure per member would cost each call more than the call itself. */
class CallContext implements RunningContext {
  readonly principal: Principal;
  readonly #exchange: Exchange;
  #controller: AbortController | undefined;
  #ended = false;

  constructor(exchange: Exchange, principal: Principal) {
    this.#exchange = exchange;
    this.principal = principal;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      const { disconnected } = this.#exchange;
      const gone = (): void => this.abort(new DOMException("The caller is gone", "AbortError"));
      if (disconnected.aborted) gone();
      else disconnected.addEventListener("abort", gone, { once: true });
    }
    return this.#controller.signal;
  }

  progress(_update: ProgressUpdate): void {}

  abort(reason: DOMException): void {
    if (!this.#ended) this.#controller?.abort(reason);
  }

  end(): void {
    this.#ended = true;
  }
}
