/** The jobs of a service desk, each in the caller's own name: what goes in and what comes out, in people's words. */
import type { Result } from "../lib/result.ts";
import type { ServicenowFailure } from "./failure.ts";
import type { Caller } from "./caller.ts";

/** Records of one search. */
export const maxSearchResults = 50;
/** A file that is fetched. It is written as it arrives. */
export const maxFetchedBytes = 67_108_864;
/** A file that is sent, which is held in memory: a second try with a new token needs it again. */
export const maxSentBytes = 16_777_216;

/** A field by its true name, and what people see of it. */
export interface ShownField {
  readonly name: string;
  readonly value: string;
}

/** A record as people see it. */
export interface ShownRecord {
  readonly table: string;
  readonly sysId: string;
  /** Its number, or what people call it. */
  readonly name: string;
  /** The fields that the name is made of. */
  readonly namedBy: readonly string[];
  readonly link: string;
  readonly fields: readonly ShownField[];
}

/** What to look for, in people's words. All of it has to hold. */
export interface RecordSearch {
  readonly table: string;
  /** Each word has to be in one of the fields with text. */
  readonly words?: string;
  /** Conditions, one a line. */
  readonly where?: string;
  /** The usual ones when absent. */
  readonly fields?: readonly string[];
  readonly orderBy?: string;
  readonly limit: number;
  /** From the page before. */
  readonly cursor?: string;
}

export interface RecordPage {
  readonly table: string;
  readonly records: readonly ShownRecord[];
  /** The conditions as they were understood. */
  readonly understood: readonly string[];
  /** Where the next page starts; `null` on the last one. */
  readonly cursor: string | null;
  /** How many the instance counts, hidden ones perhaps among them; `null` where it does not say. */
  readonly total: number | null;
}

export interface RecordCountRequest extends Pick<RecordSearch, "table" | "words" | "where"> {
  readonly groupBy?: string;
}

export interface RecordCount {
  readonly table: string;
  readonly understood: readonly string[];
  /** Records that the person may see. */
  readonly count: number;
  /** Whether all were counted. */
  readonly isWhole: boolean;
  /** The instance's own count where not all were counted. It may include records that the person may not see. */
  readonly instanceCount?: number | null;
  readonly groups: readonly { readonly name: string; readonly size: number }[] | null;
}

/** A record: a number, a link, or with `table` a sys_id or a name. */
export interface RecordName {
  readonly id: string;
  readonly table?: string | undefined;
}

export interface RecordViewRequest extends RecordName {
  /** Without them, those that hold something of interest; `*` is all. */
  readonly fields?: readonly string[] | undefined;
  readonly include?: readonly string[];
}

export interface JournalEntry {
  readonly audience: "team" | "caller";
  /** The user name; `null` where the entry is the whole journal as the instance shows it. */
  readonly author: string | null;
  readonly at: string | null;
  readonly text: string;
}

export interface RelatedRecords {
  readonly kind: string;
  readonly records: readonly ShownRecord[];
  readonly isCut: boolean;
  /** What a reader should know of the list. */
  readonly note?: string;
}

/** An answer that was given with an order. */
interface ItemAnswer {
  /** The number of the item; `null` where the record is or belongs to one. */
  readonly item: string | null;
  readonly label: string;
  readonly value: string;
}

export interface ItemAnswers {
  readonly answers: readonly ItemAnswer[];
  /** Whether there are more. */
  readonly isCut: boolean;
}

export interface RecordView {
  readonly record: ShownRecord;
  /** Grows with each change of the record. */
  readonly version: string;
  readonly journal: readonly JournalEntry[] | null;
  readonly files: readonly Attachment[] | null;
  /** `hidden`: ServiceNow keeps them from the person. */
  readonly answers: ItemAnswers | "hidden" | "unavailable" | null;
  readonly related: readonly RelatedRecords[];
}

export interface DescribedField {
  readonly name: string;
  readonly label: string;
  readonly type: string;
  readonly reference: string | null;
  readonly mandatory: boolean;
  readonly readOnly: boolean;
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  readonly choicesLeft: number;
}

export interface TableDescription {
  readonly table: string;
  readonly writable: boolean;
  /** `records`: the person may not read the dictionary, so that types and mandatory fields are partly unknown. */
  readonly source: "dictionary" | "records";
  readonly fields: readonly DescribedField[];
  readonly fieldsLeft: number;
}

/** What is known of a file on a record. */
export interface Attachment {
  readonly sysId: string;
  readonly fileName: string;
  readonly contentType: string;
  readonly sizeBytes: number;
}

/** A file on its way: it has to be read to its end, or cancelled. */
export interface AttachmentContent extends Attachment {
  /** Throws where it does not arrive whole. */
  readonly pieces: AsyncIterable<Uint8Array>;
  cancel(): Promise<void>;
  /** What cut the file, if `error` is what `pieces` threw for it. */
  failureOf(error: unknown): ServicenowFailure | null;
}

export interface NewAttachment {
  readonly fileName: string;
  readonly contentType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

type Answer<T> = Promise<Result<T, ServicenowFailure>>;

export interface FileRequest extends RecordName {
  /** Of the file; its record's only one when absent. */
  readonly name: string | undefined;
}

/** What reads. */
export interface DeskReads {
  search(search: RecordSearch, caller: Caller): Answer<RecordPage>;
  count(request: RecordCountRequest, caller: Caller): Answer<RecordCount>;
  get(request: RecordViewRequest, caller: Caller): Answer<RecordView>;
  describe(
    request: { readonly table: string; readonly field?: string | undefined },
    caller: Caller,
  ): Answer<TableDescription>;
  /** The file of a record by its name, or its only one. */
  fetchFile(request: FileRequest, caller: Caller): Answer<AttachmentContent>;
  /** A file by its own sys_id. */
  fetchFileById(attachmentId: string, caller: Caller): Answer<AttachmentContent>;
  /** The tables that the operator opened. */
  readonly tables: readonly string[];
}
