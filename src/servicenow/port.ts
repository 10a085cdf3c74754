/** What tools and resources may do with an instance. Every call is made in the caller's own name, under their rights. */
import type { Result } from "../lib/result.ts";
import type { FailureWords, ServicenowFailure } from "./failure.ts";
import type { Caller } from "./calls.ts";
import type { RecordKind } from "./tables.ts";

// The service catalog: what an item asks, and orders.

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

/** What to order, and the answers by question. */
export interface OrderRequest {
  readonly action: "order" | "add_to_cart" | "show_cart" | "submit_cart";
  /** Name, sys_id or link of the item; not needed for the cart as a whole. */
  readonly item?: string | undefined;
  /** `name=value` lines, or a JSON object; `requested_for` names another person. */
  readonly answers?: string | undefined;
  readonly quantity: number;
  readonly dryRun: boolean;
}

interface CartLine {
  readonly name: string;
  readonly quantity: string;
  readonly price: string;
}

/** What an order holds or held: items, prices and the request that came of it. */
export interface Cart {
  readonly lines: readonly CartLine[];
  /** As the instance shows it. */
  readonly total: string;
}

/** What was ordered, or what would be. */
export interface OrderReport {
  readonly action: OrderRequest["action"];
  readonly dryRun: boolean;
  readonly item: CatalogItem | null;
  readonly answers: readonly { readonly label: string; readonly value: string }[];
  /** The name of who gets it; `null` for a cart, and where a form makes a record. */
  readonly requestedFor: string | null;
  /** What the instance made of it; `null` where nothing was ordered yet. */
  readonly made: { readonly number: string; readonly link: string } | null;
  readonly cart: Cart | null;
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

type Answer<T> = Promise<Result<T, ServicenowFailure>>;

interface DeskCatalog {
  describeItem(item: string, caller: Caller): Answer<CatalogItem>;
  order(request: OrderRequest, caller: Caller): Answer<OrderReport>;
}

// The jobs of a service desk, each in the caller's own name: what goes in and what comes out, in people's words.

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
  readonly words?: string | undefined;
  /** Conditions, one a line. */
  readonly where?: string;
  /** The usual ones when absent. */
  readonly fields?: readonly string[];
  readonly orderBy?: string;
  readonly limit: number;
  /** From the page before. */
  readonly cursor?: string;
}

/** One page of a search, in the order that was asked for. */
export interface RecordPage {
  readonly table: string;
  readonly records: readonly ShownRecord[];
  /** The conditions as they were understood. */
  readonly understood: readonly string[];
  /** Where the next page starts; `null` on the last one. */
  readonly cursor: string | null;
  /** Of a name that none has: the nearest. */
  readonly hint?: string;
  /** How many the instance counts, hidden ones perhaps among them; `null` where it does not say. */
  readonly total: number | null;
}

/** Which records to count, and by which fields. */
export interface RecordCountRequest extends Pick<RecordSearch, "table" | "words" | "where"> {
  /** A field; a date `by day`, `by week` or `by month`. */
  readonly groupBy?: string;
  /** Two dates of each record, by a comma: the mean time between them is told. */
  readonly meanTime?: readonly string[];
}

/** A mean over the records that have both dates. */
export interface MeanTime {
  readonly hours: number;
  readonly records: number;
}

/** How many records there are, in all and by group. */
export interface RecordCount {
  readonly table: string;
  readonly understood: readonly string[];
  /** Records that the person may see. */
  readonly count: number;
  /** Whether all were counted. */
  readonly isWhole: boolean;
  /** The instance's own count where not all were counted. It may include records that the person may not see. */
  readonly instanceCount?: number | null;
  readonly groups: readonly { readonly name: string; readonly size: number; readonly mean: MeanTime | null }[] | null;
  readonly mean: MeanTime | null;
}

/** A record: a number, a link, or with `table` a sys_id or a name. */
export interface RecordName {
  readonly id: string;
  readonly table?: string | undefined;
}

/** Which record to show, with which fields and related records. */
export interface RecordViewRequest extends RecordName {
  /** Without them, those that hold something of interest; `*` is all. */
  readonly fields?: readonly string[] | undefined;
  readonly include?: readonly string[];
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

/** The fields of a table, as far as they are known. */
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

interface NewAttachment {
  readonly fileName: string;
  readonly contentType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

type DeskPortAnswer<T> = Promise<Result<T, ServicenowFailure>>;

/** Which attachment of which record. */
export interface FileRequest extends RecordName {
  /** Of the file; its record's only one when absent. */
  readonly name: string | undefined;
}

/** What reads. */
interface DeskReads {
  search(search: RecordSearch, caller: Caller): DeskPortAnswer<RecordPage>;
  count(request: RecordCountRequest, caller: Caller): DeskPortAnswer<RecordCount>;
  get(request: RecordViewRequest, caller: Caller): DeskPortAnswer<RecordView>;
  describe(
    request: { readonly table: string; readonly field?: string | undefined },
    caller: Caller,
  ): DeskPortAnswer<TableDescription>;
  /** The file of a record by its name, or its only one. */
  fetchFile(request: FileRequest, caller: Caller): DeskPortAnswer<AttachmentContent>;
  /** The tables that the operator opened. */
  readonly tables: readonly string[];
}

// The changes that a service desk makes, and what the instance did with them.

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

/** `dryRun`: say what would be sent, and send nothing. */
interface Change {
  readonly dryRun: boolean;
}

/** A record to make: its table and values. */
export interface CreateRequest extends Change {
  readonly table: string;
  /** `name=value` lines, or a JSON object. */
  readonly values: string;
  /** A record that the new one comes from. */
  readonly from?: string | undefined;
}

/** A change of a record: the values to set. */
export interface UpdateRequest extends Change, RecordName {
  readonly values: string;
  /** The version that the caller has seen. */
  readonly ifVersion?: string | undefined;
}

/** A comment or work note to add to a record. */
export interface NoteRequest extends Change, RecordName {
  readonly audience: "team" | "caller";
  readonly text: string;
}

/** A decision on an approval. */
export interface ApprovalRequest extends Change, RecordName {
  readonly decision: "approve" | "reject";
  readonly comment?: string | undefined;
}

/** A file to attach to a record. */
export interface AttachRequest extends RecordName {
  /** `null` asks only whether the record may get one. */
  readonly file: NewAttachment | null;
}

/** The attachment that was made. */
export interface AttachReport {
  /** The record's number or name. */
  readonly record: string;
  readonly title: string;
  /** `null` where none was sent. */
  readonly file: Attachment | null;
}

type ChangesPortAnswer<T> = Promise<Result<T, ServicenowFailure>>;

interface DeskChanges {
  create(request: CreateRequest, caller: Caller): ChangesPortAnswer<ChangeReport>;
  update(request: UpdateRequest, caller: Caller): ChangesPortAnswer<ChangeReport>;
  addNote(request: NoteRequest, caller: Caller): ChangesPortAnswer<ChangeReport>;
  decide(request: ApprovalRequest, caller: Caller): ChangesPortAnswer<ChangeReport>;
  attach(request: AttachRequest, caller: Caller): ChangesPortAnswer<AttachReport>;
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
