/** Answers of the service desk's jobs, in people's words: one file makes them, another file's tools send them. */
import type { ServicenowFailure } from "./failure.ts";

/** A question of a catalog item. */
export interface ItemQuestion {
  /** The sys_id, or empty where the instance does not say it. */
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly kind: "text" | "yes_no" | "checkbox" | "choice" | "reference" | "list" | "date" | "date_time" | "masked";
  readonly mandatory: boolean;
  readonly reference: string | null;
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  readonly initial: string;
}

/** An item of the service catalog, with the questions that an order answers. */
export interface CatalogItem {
  readonly sysId: string;
  readonly name: string;
  readonly about: string;
  /** As the instance shows it; empty where it shows none. */
  readonly price: string;
  readonly recurringPrice: string;
  /** Whether it makes a record of some table instead of a request. */
  readonly isProducer: boolean;
  readonly questions: readonly ItemQuestion[];
}

/** What was ordered, or what would be. */
export interface OrderReport {
  readonly action: "order" | "add_to_cart" | "show_cart" | "submit_cart";
  readonly dryRun: boolean;
  readonly item: CatalogItem | null;
  readonly answers: readonly { readonly label: string; readonly value: string }[];
  /** The name of who gets it; `null` for a cart, and where a form makes a record. */
  readonly requestedFor: string | null;
  /** What the instance made of it; `null` where nothing was ordered yet. */
  readonly made: { readonly number: string; readonly link: string } | null;
  readonly cart: {
    readonly lines: readonly { readonly name: string; readonly quantity: string; readonly price: string }[];
    /** As the instance shows it. */
    readonly total: string;
  } | null;
  readonly quantity: number;
  /** What it would cost, of an order that is only planned: in words, since not all may be known. */
  readonly cost: string;
  /** Numbers of the requested items, each with how many and its stage. */
  readonly items: readonly string[];
  /** What the whole costs, as the instance shows it; empty where it costs nothing. */
  readonly total: string;
  /** People whose approval the order waits for. */
  readonly approvers: readonly string[];
  /** What is sent, whole. */
  readonly madeFrom: string;
}

/** Records of one search. */
export const maxSearchResults = 50;
/** A record as people see it. */
export interface ShownRecord {
  readonly table: string;
  readonly sysId: string;
  /** Its number, or what people call it. */
  readonly name: string;
  /** The fields that the name is made of. */
  readonly namedBy: readonly string[];
  readonly link: string;
  /** By their true names. */
  readonly fields: readonly { readonly name: string; readonly value: string }[];
}

/** A mean over the records that have both dates. */
export interface MeanTime {
  readonly hours: number;
  readonly records: number;
}

/** A record: a number, a link, or with `table` a sys_id or a name. */
export interface RecordName {
  readonly id: string;
  readonly table?: string | undefined;
}

/** One comment or work note of a record. */
export interface JournalEntry {
  readonly audience: "team" | "caller";
  /** The user name; `null` where the entry is the whole journal as the instance shows it. */
  readonly author: string | null;
  readonly at: string | null;
  readonly text: string;
}

/** Records that belong to another, of one kind. */
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

/** What a person answered when they ordered an item. */
export interface ItemAnswers {
  readonly answers: readonly ItemAnswer[];
  /** Whether there are more. */
  readonly isCut: boolean;
}

/** A record as its reader may see it. */
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

/** A field of a table: its name, label, type and choices. */
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

/** The known fields of a table. */
export interface TableDescription {
  readonly table: string;
  readonly writable: boolean;
  /** `records`: the person may not read the dictionary, so that types and mandatory fields are partly unknown. */
  readonly source: "dictionary" | "records";
  readonly fields: readonly DescribedField[];
  readonly fieldsLeft: number;
  /** Which state may follow which, and who says so; where the state alone was asked for. */
  readonly next: { readonly source: string; readonly moves: readonly string[] } | null;
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

/** Free text that is sent to the instance. */
export const maxTextCharacters = 20_000;

/** What a field held before a change, and what it holds after. */
export interface FieldChange {
  readonly name: string;
  /** What people call the field. */
  readonly label: string;
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
  /** What the record is about; empty where it does not say. */
  readonly title: string;
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

/** A field as agents see it: stored value and display value where they differ. */
export type FieldValue = string | number | boolean | null | {
  readonly value: string;
  readonly display_value: string;
};

/** A record as agents see it. */
export type RecordFields = Readonly<Record<string, FieldValue>>;
