/** The service catalog: what an item asks, and orders. */
import type { Result } from "../lib/result.ts";
import type { ServicenowFailure } from "./failure.ts";
import type { Caller } from "./caller.ts";

/** A question of a catalog item. */
export interface ItemQuestion {
  readonly name: string;
  readonly label: string;
  readonly kind: "text" | "yes_no" | "checkbox" | "choice" | "reference" | "list" | "date" | "date_time" | "masked";
  readonly mandatory: boolean;
  readonly reference: string | null;
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  readonly initial: string;
}

export interface CatalogItem {
  readonly sysId: string;
  readonly name: string;
  readonly about: string;
  readonly price: string;
  /** Whether it makes a record of some table instead of a request. */
  readonly isProducer: boolean;
  readonly questions: readonly ItemQuestion[];
}

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

export interface Cart {
  readonly lines: readonly CartLine[];
  /** As the instance shows it. */
  readonly total: string;
}

/** What was ordered, or what would be. */
export interface OrderReport {
  readonly dryRun: boolean;
  readonly item: CatalogItem | null;
  readonly answers: readonly { readonly label: string; readonly value: string }[];
  readonly requestedFor: string | null;
  /** What the instance made of it; `null` where nothing was ordered yet. */
  readonly made: { readonly number: string; readonly link: string } | null;
  readonly cart: Cart | null;
  readonly quantity: number;
  /** Numbers of the requested items, each with how many and its stage. */
  readonly items: readonly string[];
  /** What the whole costs, as the instance shows it; empty where it costs nothing. */
  readonly total: string;
  /** People whose approval the order waits for. */
  readonly approvers: readonly string[];
}

type Answer<T> = Promise<Result<T, ServicenowFailure>>;

export interface DeskCatalog {
  describeItem(item: string, caller: Caller): Answer<CatalogItem>;
  order(request: OrderRequest, caller: Caller): Answer<OrderReport>;
}
