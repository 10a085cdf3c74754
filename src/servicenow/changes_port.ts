/** The changes that a service desk makes, and what the instance did with them. */
import type { Result } from "../lib/result.ts";
import type { Attachment, NewAttachment, RecordName } from "./desk_port.ts";
import type { ServicenowFailure } from "./failure.ts";
import type { Caller } from "./caller.ts";

/** Free text that is sent to the instance. */
export const maxTextCharacters = 20_000;

export interface FieldChange {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** A change as planned, or as it came out. */
export interface ChangeReport {
  /** Nothing was sent. */
  readonly dryRun: boolean;
  readonly table: string;
  /** The record's number or name; `null` for a new one that is only planned. */
  readonly name: string | null;
  readonly link: string | null;
  /** As asked for: planned, or taken by the instance. */
  readonly changes: readonly FieldChange[];
  /** Asked for, and not what the record says now: dropped by an access rule, or changed by a business rule. */
  readonly notTaken: readonly {
    readonly name: string;
    readonly wanted: string;
    /** `null` where the instance does not show the field. */
    readonly now: string | null;
    /** Whether it may have been taken: the record changed, and the field is not shown. */
    readonly isUnknown: boolean;
  }[];
  /** What the instance changed besides. */
  readonly alsoChanged: readonly FieldChange[];
  /** In words: what else there is to know. */
  readonly notes: readonly string[];
  /** Of the record afterwards. */
  readonly version: string | null;
  /** What is sent, whole, and the version of the record that it was made from. */
  readonly madeFrom: string;
}

/** `dryRun`: say what would be sent, and send nothing. */
interface Change {
  readonly dryRun: boolean;
}

export interface CreateRequest extends Change {
  readonly table: string;
  /** `name=value` lines, or a JSON object. */
  readonly values: string;
  /** A record that the new one comes from. */
  readonly from?: string | undefined;
}

export interface UpdateRequest extends Change, RecordName {
  readonly values: string;
  /** The version that the caller has seen. */
  readonly ifVersion?: string | undefined;
}

export interface NoteRequest extends Change, RecordName {
  readonly audience: "team" | "caller";
  readonly text: string;
}

export interface ApprovalRequest extends Change, RecordName {
  readonly decision: "approve" | "reject";
  readonly comment?: string | undefined;
}

export interface AttachRequest extends Change, RecordName {
  readonly file: NewAttachment;
}

export interface AttachReport {
  /** The record's number or name. */
  readonly record: string;
  /** `null` for a dry run. */
  readonly file: Attachment | null;
}

type Answer<T> = Promise<Result<T, ServicenowFailure>>;

export interface DeskChanges {
  create(request: CreateRequest, caller: Caller): Answer<ChangeReport>;
  update(request: UpdateRequest, caller: Caller): Answer<ChangeReport>;
  addNote(request: NoteRequest, caller: Caller): Answer<ChangeReport>;
  decide(request: ApprovalRequest, caller: Caller): Answer<ChangeReport>;
  attach(request: AttachRequest, caller: Caller): Answer<AttachReport>;
}
