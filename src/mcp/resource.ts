/** Resources: families of addresses that are listed, described by templates, and read. Prompts, which are like tools. */
import { hasScopes, type Principal } from "../lib/principal.ts";
import type { CacheHint } from "./revision.ts";
import type { ContentBlock, ToolContext } from "./tool.ts";
import { createRegistry, type Registry } from "./registry.ts";

/** A resource with a fixed address (MCP schema `Resource`). */
export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
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
interface ResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly mimeType?: string;
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

/** Changes of a family's resources that happened within a short time. */
interface ResourceChange {
  /** Says which addresses may be meant. */
  readonly touches: (uri: string) => boolean | Promise<boolean>;
  /** Addresses that changed, where they are known: files, and directories with all that is in them. */
  readonly changed?: readonly string[];
  /** Whether resources may have appeared or disappeared. */
  readonly isListChanged: boolean;
}

type ResourceListener = (change: ResourceChange) => void;

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
  readonly templates: readonly ResourceTemplate[];
  read(uri: string, context: ToolContext): ResourceOutcome | Promise<ResourceOutcome>;
  /** How long a client may keep what it read. */
  readonly cacheHint: CacheHint;
  /** Whether resources come and go while the server runs; only `watch` reports that. */
  readonly hasVaryingList?: boolean;
  /** Whether rules let this principal watch the resource; absent: they do. It depends on no file. */
  readonly mayWatch?: (uri: string, principal: Principal) => Promise<boolean>;
  /** Reports changes to what this principal may read, until the returned function is called. */
  readonly watch?: (principal: Principal, listener: ResourceListener) => () => void;
  /** Suggests values for a template's variable. */
  readonly complete?: (
    uriTemplate: string,
    variable: string,
    value: string,
    others: Readonly<Record<string, string>>,
    principal: Principal,
  ) => readonly string[] | Promise<readonly string[]>;
}

export type ResourceRegistry = Registry<ResourceFamily, ResourceFamily>;

/** The families on offer; an address belongs to the first that owns it. */
export function createResourceRegistry(families: Iterable<ResourceFamily>): ResourceRegistry {
  return createRegistry((family) => family.name, (family) => family, families);
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
  return family?.watch !== undefined && hasScopes(principal, family.scopes) &&
    (await family.mayWatch?.(uri, principal) ?? true);
}

/** Of what the families that there are now can give notice: a list only if all that may change it tell so. */
export function noticesOf(resources: ResourceRegistry): { readonly ofResources: boolean; readonly ofLists: boolean } {
  const families = resources.all();
  return {
    ofResources: families.some(({ watch }) => watch !== undefined),
    ofLists: families.every(({ watch, hasVaryingList }) => watch !== undefined || hasVaryingList !== true),
  };
}

/** What a stream watches. */
interface WatchedResources {
  readonly uris: Iterable<string>;
  /** Also that resources appear and disappear. */
  readonly lists: boolean;
}

/**
 * Tells which of the wanted resources may have changed, and that resources appear or disappear, until the returned
 * function is called. Listens to the families of what is wanted, and to no other.
 */
export function watchFamilies(
  resources: ResourceRegistry,
  principal: Principal,
  { uris, lists }: WatchedResources,
  { onChange, onList }: { readonly onChange: (uri: string) => void; readonly onList: () => void },
): () => void {
  const families = new Set<ResourceFamily | undefined>(Array.from(uris, (uri) => familyOf(resources, uri)));
  if (lists) { for (const family of resources.all()) if (family.hasVaryingList === true) families.add(family); }
  const listener: ResourceListener = ({ touches, isListChanged }) => {
    for (const uri of uris) void Promise.resolve(touches(uri)).then((isTouched) => isTouched && onChange(uri));
    if (isListChanged && lists) onList();
  };
  const stops = [...families].map((family) =>
    family !== undefined && hasScopes(principal, family.scopes) ? family.watch?.(principal, listener) : undefined
  );
  return () => {
    for (const stop of stops) stop?.();
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

export type PromptRegistry = Registry<Prompt, Prompt>;

/** The prompts on offer. Throws where two have one name. */
export function createPromptRegistry(prompts: Iterable<Prompt>): PromptRegistry {
  return createRegistry((prompt) => prompt.name, (prompt) => prompt, prompts);
}
