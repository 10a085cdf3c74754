/** The database cannot be used at the moment: every transport answers 503 and when to try again. */
import { StorageFault } from "./storage_fault.ts";
import { machineFaultWords } from "./system_fault.ts";

/** Well again in most cases within this time; a client that asks earlier is refused at no cost. */
const defaultRetryAfterSeconds = 2;
const faultRetrySeconds = 5;

/** What storages reject with when the database fails them. The cause has the driver's words, for the log alone. */
export class StorageUnavailableError extends StorageFault {
  override readonly name = "StorageUnavailableError";
  readonly retryAfterSeconds: number;

  /** As {@link StorageFault}. */
  constructor(
    problem: string,
    options: ErrorOptions & { readonly remedy?: string; readonly retryAfterSeconds?: number } = {},
  ) {
    super(problem, options.remedy ?? "check the database", options);
    this.retryAfterSeconds = options.retryAfterSeconds ?? defaultRetryAfterSeconds;
  }
}

/** Why the server cannot answer right now. */
export interface Unavailability {
  /** The guard of the storage has logged that it is lost; a fault of the machine is still to be logged. */
  readonly cause: "storage_unavailable" | "machine_fault";
  readonly text: string;
  readonly retryAfterSeconds: number;
}

/** Why a request that failed can be made again, and when; `null` for a bug. */
export function unavailability(error: unknown): Unavailability | null {
  if (error instanceof StorageUnavailableError) {
    const { retryAfterSeconds } = error;
    const text = `The server cannot use its database right now. Try again in ${retryAfterSeconds} s`;
    return { cause: "storage_unavailable", text, retryAfterSeconds };
  }
  const words = machineFaultWords(error);
  if (words === null) return null;
  return { cause: "machine_fault", text: `The server cannot answer: ${words}`, retryAfterSeconds: faultRetrySeconds };
}
