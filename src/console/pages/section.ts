/** What a page of the console is made of. */
import type { Visitor } from "../../oauth/mod.ts";
import type { Html } from "../../lib/page.ts";

/** A person who looks at a page. */
export interface Visit {
  readonly visitor: Visitor;
  readonly query: URLSearchParams;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Where a section is, with a query. */
  href(section: string, query?: Readonly<Record<string, string>>): string;
}

/** A posted form of a section. */
interface ActVisit extends Visit {
  readonly form: URLSearchParams;
  /** Where the request came from. */
  readonly address: string;
}

/** What an act did: its words, or others; a page of its own, for what is shown once; or why it did nothing. */
type ActOutcome = "done" | { readonly done: string } | Html | { readonly problem: string };

/** Something that a form of a section does. */
export interface Act {
  /** Said after it, at the top of the page. */
  readonly done: string;
  /** The passphrase is asked for again; these words say what for, as in "disable ada". `null`: this form needs none. */
  readonly confirm?: (form: URLSearchParams) => string | null;
  /** Only administrators may do it; what others may do, `run` judges by the visitor. */
  readonly forAdministrators?: true;
  run(visit: ActVisit): Promise<ActOutcome>;
}

/** The parts of a page that change while it is open, by the id of the element that holds each. */
export type LiveParts = Readonly<Record<string, Html>>;

/** A page of the console. Everything it shows is the visitor's own, unless they are an administrator. */
export interface Section {
  /** The last part of its path: small letters; empty for the overview. */
  readonly name: string;
  readonly title: string;
  readonly forAdministrators?: true;
  /** Reached from another page, not from the navigation. */
  readonly unlisted?: true;
  show(visit: Visit): Promise<Html>;
  live?(visit: Visit): Promise<LiveParts>;
  /**
   * A file in place of the page, where the address asks for `download`. `isStill` says whether the visitor is signed in
   * with the same rights: asked before each part, since a reader may take hours.
   */
  download?(visit: Visit, isStill: () => Promise<boolean>): Response;
  readonly acts?: Readonly<Record<string, Act>>;
}
