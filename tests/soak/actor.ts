/**
 * One part of the load, and its ledger: what the server acknowledged, and what is in doubt because the answer was cut
 * off by a kill. Of something in doubt, either outcome is right, but a mix never is.
 */
import type { Random } from "./random.ts";
import type { SoakedServer } from "./soaked_server.ts";

/** What an actor works with. */
export interface Stage {
  readonly server: SoakedServer;
  readonly random: Random;
  /** Counts something that was done, for the report. */
  readonly count: (what: string) => void;
}

/** A person, a client or a program. Whatever it finds broken, it throws. */
export interface Actor {
  readonly name: string;
  /** The next thing that it does; doubts about it are settled before it ends. Throws {@link Cut} for what has none. */
  step(): Promise<void>;
  /** Lets go of what it holds open, so that the server comes to rest. */
  rest(): Promise<void>;
  /** Looks at everything that its ledger says. */
  audit(): Promise<void>;
}

/** The answer was cut off by a kill: what was asked for is in doubt. */
export class Cut extends Error {
  /** The one thing that it says. */
  constructor() {
    super("the server was killed before it answered");
  }
}

/** The value, or `null` when the answer was cut off. */
export async function unlessCut<T>(promise: Promise<T>): Promise<T | null> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof Cut) return null;
    throw error;
  }
}

/** Asks again after each kill. Only for questions that change nothing. */
export async function persist<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Cut)) throw error;
    }
  }
}
