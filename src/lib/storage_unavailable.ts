/** The database cannot be used at the moment: every transport answers 503 and when to try again. */
import { StorageFault } from "./storage_fault.ts";

/** Well again in most cases within this time; a client that asks earlier is refused at no cost. */
const defaultRetryAfterSeconds = 2;

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

/** What callers are told, whatever the reason. */
export function unavailableText({ retryAfterSeconds }: StorageUnavailableError): string {
  return `The server cannot use its database right now. Try again in ${retryAfterSeconds} s`;
}
