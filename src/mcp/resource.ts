/** Resources: families of addresses that are listed, described by templates, and read. Prompts, which are like tools. */
import { hasScopes, type Principal, shareKey } from "../lib/principal.ts";
import { crashText } from "../lib/system_fault.ts";
import { hashSecret } from "../lib/secrets.ts";
import { atMost, createPause } from "../lib/time.ts";
import { nextTurn } from "../lib/turns.ts";
import type { Services } from "./limits.ts";
import type { CacheHint } from "./revision.ts";
import type { ContentBlock, ResourceNames, ToolContext } from "./tool.ts";
import { createRegistry } from "./registry.ts";

/** A resource with a fixed address (MCP schema `Resource`). */
export interface Resource extends ResourceNames {
  /** In bytes. */
  readonly size?: number;
}

/** Some of a family's addresses. */
export interface ResourcePage {
  readonly resources: readonly Resource[];
  /** Where the family goes on; absent at its end. Clients see it sealed. */
  readonly next?: string;
}

/** A pattern of addresses (MCP schema `ResourceTemplate`; RFC 6570). */
interface ResourceTemplate extends Pick<Resource, "name" | "title" | "mimeType"> {
  readonly uriTemplate: string;
  readonly description: string;
}

/** What a resource holds (MCP schema `ResourceContents`). */
type ResourceContents =
  & { readonly uri: string; readonly mimeType?: string; readonly _meta?: Readonly<Record<string, unknown>> }
  & ({ readonly text: string } | { readonly blob: string });

/** What reading gives: contents, a refusal in words, or `null` when the family has no such resource. */
export type ResourceOutcome =
  | { readonly contents: readonly ResourceContents[] }
  | { readonly refusal: string }
  | null;

/**
 * Resources that are served alike, such as the files of a workspace. What a family owns, no other is asked about;
 * scopes are required before it is asked for anything.
 */
export interface ResourceFamily {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Whether the address belongs to the family, whatever becomes of reading it. */
  owns(uri: string): boolean;
  /** The one spelling of the addresses that are equivalent to one of the family's. Default: each is its own. */
  readonly canonical?: (uri: string) => string;
  /** The fixed addresses that this principal may see, in a stable order. */
  list(principal: Principal): readonly Resource[] | Promise<readonly Resource[]>;
  /**
   * The same for a family of many: about `limit` addresses at a time, from where an earlier page said on. `null` for a
   * position that no page gave.
   */
  readonly listPage?: (
    principal: Principal,
    position: string | undefined,
    limit: number,
  ) => Promise<ResourcePage | null>;
  /** What of a family of many lies on top, such as directories, named by its state: a watch of the list looks at it, too. */
  readonly listTop?: (principal: Principal) => Promise<readonly Resource[]>;
  readonly templates: readonly ResourceTemplate[];
  read(uri: string, context: ToolContext): ResourceOutcome | Promise<ResourceOutcome>;
  /** How long a client may keep what it read. */
  readonly cacheHint: CacheHint;
  /** Whether rules let this principal watch the resource; absent: they do. It depends on no file. */
  readonly mayWatch?: (uri: string, principal: Principal) => Promise<boolean>;
  /** Differs whenever the resource does; a family without it cannot be watched. */
  readonly stamp?: (uri: string, principal: Principal) => Promise<string>;
  /** Suggests values for a template's variable, at most {@link maxSuggestions}. */
  readonly complete?: (
    uriTemplate: string,
    variable: string,
    value: string,
    others: Readonly<Record<string, string>>,
    principal: Principal,
  ) => readonly string[] | Promise<readonly string[]>;
}

/** Where a family gives so many values, there may be more. */
export const maxSuggestions = 1_000;

type ResourceRegistry = ReturnType<typeof createResourceRegistry>;

/** The families on offer; an address belongs to the first that owns it. They see one spelling of equivalent addresses. */
export function createResourceRegistry(families: Iterable<ResourceFamily>) {
  return createRegistry(families, (family): ResourceFamily => {
    const { canonical = (uri: string) => uri, mayWatch, stamp } = family;
    return {
      ...family,
      owns: (uri) => family.owns(normalUri(uri)),
      canonical: (uri) => canonical(normalUri(uri)),
      read: (uri, context) => family.read(normalUri(uri), context),
      ...(mayWatch && { mayWatch: (uri, principal) => mayWatch(normalUri(uri), principal) }),
      ...(stamp && { stamp: (uri, principal) => stamp(normalUri(uri), principal) }),
    };
  });
}

/** Longer ones name no resource. */
const maxSpelledCharacters = 16_384;

/**
 * An address with the case of its scheme and host, its triplets and its dot segments in the one spelling (RFC 3986
 * §6.2.2), and without a slash that is all its path (§6.2.3). One that leads above its root is left as it is.
 */
export function normalUri(uri: string): string {
  const [, scheme, host = "", path = "", rest = ""] = /^([a-z][\w+.-]*):\/\/([^/?#]*)([^?#]*)(.*)$/is.exec(uri) ?? [];
  if (scheme === undefined || uri.length > maxSpelledCharacters) return uri;
  const plain = path.replace(/%[0-9a-f]{2}/gi, (triplet) => {
    const character = String.fromCharCode(parseInt(triplet.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : triplet.toUpperCase();
  });
  const segments: string[] = [];
  for (const segment of plain.split("/")) {
    if (segment === ".." && segments.length < 2) return uri;
    if (segment === "..") segments.pop();
    else if (segment !== ".") segments.push(segment);
  }
  if (/\/\.\.?$/.test(plain)) segments.push("");
  const own = host !== "" && segments.join("") === "" && segments.length < 3 ? "" : segments.join("/");
  return `${scheme.toLowerCase()}://${host.toLowerCase()}${own}${rest}`;
}

/** The family that an address belongs to. */
export function familyOf(resources: ResourceRegistry, uri: string): ResourceFamily | undefined {
  return resources.all().find((family) => family.owns(uri));
}

/** The one spelling of an address. */
export function canonicalUri(resources: ResourceRegistry, uri: string): string {
  return familyOf(resources, uri)?.canonical?.(uri) ?? uri;
}

/** Whether the principal may read what the address names, if anything, and be notified of its changes. */
export async function mayWatch(resources: ResourceRegistry, principal: Principal, uri: string): Promise<boolean> {
  const family = familyOf(resources, uri);
  return family?.stamp !== undefined && hasScopes(principal, family.scopes) &&
    (await family.mayWatch?.(uri, principal) ?? true);
}

/** How long after one look at what is watched the next follows, at the least. */
const lookMs = 2_000;
/** And so many times what the look took: all looks together have at most this part of the thread. */
const restFactor = 20;
/** Resources and lists that one look is at; the others come next. */
const maxLooks = 200;
/** How long an answer waits for the first look. */
const firstLookMs = 2_000;

/** A resource, or the first page of a list and what lies on top, that streams watch. */
interface Watched {
  readonly stamp: () => Promise<string>;
  readonly listeners: Set<() => Promise<void>>;
  /** What the last look gave; `null` before the first. */
  last: string | null;
  /** Ends with the first look: what changes after that is told. */
  first: Promise<void>;
}

/** Watches resources by looking at them from time to time, as long as a stream wants to know. */
export function createResourceWatch(
  resources: ResourceRegistry,
  { timers, log, limits: { pageSize } }: Pick<Services, "timers" | "log" | "limits">,
) {
  const pause = createPause(timers);
  const watched = new Map<string, Watched>();
  let stopTimer: (() => void) | null = null;
  let isLooking = false;
  /** Streams that come and go add no looks beside each other. */
  let firstLooks = Promise.resolve();

  const look = async (some: Iterable<Watched>): Promise<void> => {
    let fault: unknown;
    for (const each of some) {
      await nextTurn();
      if (each.listeners.size === 0) continue;
      try {
        const stamp = await each.stamp();
        if (each.last !== null && each.last !== stamp) { for (const tell of [...each.listeners]) await tell(); }
        each.last = stamp;
      } catch (error) {
        fault = error; // it is looked at again
      }
    }
    if (fault !== undefined) log.write("error", "look_failed", { error: crashText(fault) });
  };
  const lookLater = (milliseconds: number): void => {
    stopTimer = timers.after(milliseconds, () => void lookInTurn());
  };
  const lookInTurn = async (): Promise<void> => {
    const began = timers.elapsed();
    const turn = [...watched].slice(0, maxLooks);
    for (const [key, each] of turn) {
      watched.delete(key);
      watched.set(key, each); // behind those that had no turn
    }
    isLooking = true;
    await look(turn.map(([, each]) => each));
    isLooking = false;
    stopTimer = null;
    if (watched.size > 0) lookLater(Math.max(lookMs, restFactor * (timers.elapsed() - began)));
  };
  const listen = (key: string, stamp: Watched["stamp"], tell: () => void | Promise<void>) => {
    const known = watched.get(key);
    const each: Watched = known ?? { stamp, listeners: new Set(), last: null, first: firstLooks };
    const own = async (): Promise<void> => await tell(); // the same function may listen twice
    each.listeners.add(own);
    watched.set(key, each);
    if (known === undefined) each.first = firstLooks = firstLooks.then(() => look([each]));
    if (stopTimer === null && !isLooking) lookLater(lookMs);
    const stop = (): void => {
      if (!each.listeners.delete(own) || each.listeners.size > 0) return;
      watched.delete(key);
      if (watched.size > 0) return;
      stopTimer?.();
      stopTimer = null;
    };
    return { stop, first: each.first };
  };

  /** Reports which of `uris` have changed and, with `lists`, that lists have, until `stop` is called. */
  return (
    principal: Principal,
    { uris, lists }: { readonly uris: Iterable<string>; readonly lists: boolean },
    { onChange, onList }: { readonly onChange: (uri: string) => void; readonly onList: () => void },
  ) => {
    const listening: ReturnType<typeof listen>[] = [];
    for (const uri of uris) {
      const { stamp, scopes = [] } = familyOf(resources, uri) ?? {};
      if (stamp === undefined || !hasScopes(principal, scopes)) continue;
      const tell = async (): Promise<void> => {
        if (await mayWatch(resources, principal, uri)) onChange(uri);
      };
      listening.push(listen(`${shareKey(principal)} ${uri}`, () => stamp(uri, principal), tell));
    }
    for (const { name, listPage, listTop, scopes } of lists ? resources.all() : []) {
      if (listPage === undefined || !hasScopes(principal, scopes)) continue;
      const stamp = async (): Promise<string> => {
        const page = await listPage(principal, undefined, pageSize);
        const top = await listTop?.(principal);
        return hashSecret(JSON.stringify([page?.resources.map(({ uri }) => uri), top]));
      };
      listening.push(listen(`${shareKey(principal)} ${name}`, stamp, onList));
    }
    return {
      stop: () => listening.forEach(({ stop }) => stop()),
      /** Resolves when what changes from here on is told, and after two seconds where looks take longer. */
      begun: () => atMost(firstLookMs, Promise.all(listening.map(({ first }) => first)), null, pause),
    };
  };
}

// A prompt: data plus one function, like a tool.

/** A parameter of a prompt. */
interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly required: boolean;
}

/** One message of a rendered prompt (MCP schema `PromptMessage`). */
export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: ContentBlock;
}

/** What a prompt renders to, or why it cannot. */
export type PromptOutcome =
  | { readonly ok: true; readonly messages: readonly PromptMessage[] }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** A prompt as data. Missing arguments that are required are refused before `render`; unknown ones are passed on. */
export interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly scopes: readonly string[];
  readonly arguments: readonly PromptArgument[];
  readonly render: (
    values: Readonly<Record<string, string>>,
    context: ToolContext,
  ) => PromptOutcome | Promise<PromptOutcome>;
  /** Suggests values for an argument that begins with `value`. */
  readonly complete?: (
    argument: string,
    value: string,
    others: Readonly<Record<string, string>>,
  ) => readonly string[] | Promise<readonly string[]>;
}

/** The prompts on offer. Throws where two have one name. */
export function createPromptRegistry(prompts: Iterable<Prompt>) {
  return createRegistry(prompts, (prompt) => prompt);
}
