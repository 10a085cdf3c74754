/** What tools and resources may do with an instance. Every call is made in the caller's own name, under their rights. */
import type { Result } from "../lib/result.ts";
import type { FailureWords, ServicenowFailure } from "./failure.ts";
import type { FilterName, RecordKind } from "./tables.ts";

/** Free text that is sent to the instance. */
export const maxTextCharacters = 20_000;
/** Records of one search. */
export const maxSearchResults = 50;
/** A file that is fetched or sent. */
export const maxAttachmentBytes = 1_048_576;

/** Who calls, and until when. */
export interface Caller {
  /** The `sub` of the caller's token here. */
  readonly subject: string;
  readonly signal: AbortSignal;
}

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
  /** `id` is a sys_id or a number, checked before any call. Without `fields`, all that the caller may see. */
  read(
    kind: RecordKind,
    id: string,
    caller: Caller,
    options?: { readonly fields?: readonly string[] },
  ): Promise<Result<FoundRecord, ServicenowFailure>>;
  /** The sys_id of a record that is named by either. A number costs a call. */
  resolve(kind: RecordKind, id: string, caller: Caller): Promise<Result<string, ServicenowFailure>>;
}

/** What to look for. All of it has to hold. */
export interface SearchFilters {
  /** Looked for in the fields with text. */
  readonly text?: string;
  readonly filters: Readonly<Partial<Record<FilterName, string>>>;
  /** `YYYY-MM-DD`, or with `HH:MM:SS`. */
  readonly updatedAfter?: string;
  readonly updatedBefore?: string;
  readonly orderBy?: string;
  readonly descending?: boolean;
}

/** A page of a search. */
export interface SearchRequest extends SearchFilters {
  /** Allow-listed per kind; the usual ones when absent. */
  readonly fields?: readonly string[];
  readonly limit: number;
  readonly offset: number;
}

/** What a page holds. It may hold fewer records than asked for, and yet not be the last. */
interface SearchPage {
  readonly records: readonly FoundRecord[];
  /** Records that fit, counted by the instance before it hides those that the caller may not see. */
  readonly total: number | null;
  /** Where the next page starts; `null` on the last one. */
  readonly nextOffset: number | null;
}

/** Searches one kind of record. */
export type Search = (
  kind: RecordKind,
  request: SearchRequest,
  caller: Caller,
) => Promise<Result<SearchPage, ServicenowFailure>>;

/** Where a comment goes: seen by the caller of the record too, or by those who work on it only. */
type CommentField = "comments" | "work_notes";

/** Records that take comments. */
type CommentedKind = Extract<RecordKind, "incident" | "change_request">;

/** A comment that the instance took. */
interface AddedComment {
  readonly sysId: string;
  readonly selfLink: string;
  /** The instance's answer shows it. An instance drops what the user may not write without a word. */
  readonly confirmed: boolean;
}

/** A new incident, as far as agents fill it in. */
interface NewIncident {
  readonly shortDescription: string;
  readonly description?: string;
  /** 1 (high) to 3 (low), as text. */
  readonly urgency?: string;
  readonly impact?: string;
  readonly category?: string;
}

/** The changes that agents may make. */
export interface RecordChanges {
  addComment(
    kind: CommentedKind,
    id: string,
    comment: { readonly field: CommentField; readonly text: string },
    caller: Caller,
  ): Promise<Result<AddedComment, ServicenowFailure>>;
  createIncident(incident: NewIncident, caller: Caller): Promise<Result<FoundRecord, ServicenowFailure>>;
}

/** What is known of a file on a record. */
export interface Attachment {
  readonly sysId: string;
  readonly fileName: string;
  readonly contentType: string;
  readonly sizeBytes: number;
}

/** Files on records. */
export interface Attachments {
  list(kind: RecordKind, id: string, caller: Caller): Promise<Result<readonly Attachment[], ServicenowFailure>>;
  fetch(
    attachmentId: string,
    caller: Caller,
  ): Promise<Result<Attachment & { readonly bytes: Uint8Array<ArrayBuffer> }, ServicenowFailure>>;
  add(
    kind: RecordKind,
    id: string,
    file: { readonly fileName: string; readonly contentType: string; readonly bytes: Uint8Array<ArrayBuffer> },
    caller: Caller,
  ): Promise<Result<Attachment, ServicenowFailure>>;
}

/** All of it. */
export interface ServicenowRecords {
  readonly reader: RecordReader;
  readonly search: Search;
  readonly changes: RecordChanges;
  readonly attachments: Attachments;
  describe(failure: ServicenowFailure): FailureWords;
}
