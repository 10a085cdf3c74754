/** A caller's share of the memory, held for one request from its head to its answer. */
import type { BodyBounds, BodyOptions } from "../lib/request_text.ts";
import { type BodyIntake, requestBytes } from "./body_intake.ts";
import { refuseLoad } from "./mcp_response.ts";

/** Whose body it is, and how much of it. */
interface BodyUse {
  readonly intake: BodyIntake;
  readonly caller: string;
  readonly declared: number | null;
  readonly bounds: BodyBounds;
}

/** What `readRequestText` is given, and released when the request is answered. A class, since closures cost each call. */
class BodyHold implements BodyOptions {
  readonly declared: number | null;
  readonly #intake: BodyIntake;
  readonly #caller: string;
  #bytes: number;

  constructor({ intake, caller, declared }: BodyUse, bytes: number) {
    this.declared = declared;
    this.#intake = intake;
    this.#caller = caller;
    this.#bytes = bytes;
  }

  admitMore(bytes: number): boolean {
    if (!this.#intake.take(this.#caller, bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  release(): void {
    this.#intake.release(this.#caller, this.#bytes);
  }
}

/** Takes the share, or gives the refusal. */
export function holdBody(use: BodyUse): BodyHold | Response {
  const bytes = requestBytes + Math.min(use.declared ?? 0, use.bounds.maxBytes);
  switch (use.intake.admit(use.caller, bytes)) {
    case "admitted":
      return new BodyHold(use, bytes);
    case "stopping":
      return refuseStopping();
    case "over_share":
      return refuseLoad("Too many requests of yours are in flight");
  }
}

/** The answer to a body that our own stop keeps from arriving. */
export function refuseStopping(): Response {
  return refuseLoad("The server is stopping");
}
