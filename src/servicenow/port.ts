/** What tools and resources may do with an instance. Every call is made in the caller's own name, under their rights. */
import type { Result } from "../lib/result.ts";
import type { Caller } from "./caller.ts";
import type { DeskCatalog } from "./catalog_port.ts";
import type { DeskChanges } from "./changes_port.ts";
import type { DeskReads } from "./desk_port.ts";
import type { FailureWords, ServicenowFailure } from "./failure.ts";
import type { RecordKind } from "./tables.ts";

/** A field as agents see it: stored value and display value where they differ. */
export type FieldValue = string | number | boolean | null | {
  readonly value: string;
  readonly display_value: string;
};

/** A record as agents see it. */
export type RecordFields = Readonly<Record<string, FieldValue>>;

/** A record and the page where a user finds it. */
export interface FoundRecord {
  readonly sysId: string;
  /** The fields that this user may see. Catalog items have nested ones. */
  readonly fields: RecordFields | Readonly<Record<string, unknown>>;
  readonly selfLink: string;
}

/** Reads single records. */
export interface RecordReader {
  me(caller: Caller): Promise<Result<FoundRecord, ServicenowFailure>>;
  /** `id` is a sys_id or a number, checked before any call. */
  read(kind: RecordKind, id: string, caller: Caller): Promise<Result<FoundRecord, ServicenowFailure>>;
}

/** Everything that a service desk does here. */
export type Desk = DeskReads & DeskChanges & DeskCatalog;

/** Linking an account, for calls that have to wait for it. */
export interface Linking {
  /** The page where a person does it. */
  readonly url: string;
  isLinked(subject: string): Promise<boolean>;
  /** Resolves when the person has linked an account, when `signal` aborts, or when waiting has taken too long. */
  whenLinked(subject: string, signal: AbortSignal): Promise<void>;
}

/** All of it. */
export interface ServicenowRecords {
  readonly reader: RecordReader;
  readonly desk: Desk;
  readonly linking: Linking;
  describe(failure: ServicenowFailure): FailureWords;
}
