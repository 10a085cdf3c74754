/** What resources are: families of addresses that are listed, described by templates, and read. */
import type { Principal } from "../lib/principal.ts";
import type { CacheHint } from "./revisions/revision.ts";
import type { ToolContext } from "./tool.ts";
import { createRegistry, type Registry } from "./registry.ts";

/** A resource with a fixed address (MCP schema `Resource`). */
export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly mimeType?: string;
}

/** A pattern of addresses (MCP schema `ResourceTemplate`; RFC 6570). */
export interface ResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly mimeType?: string;
}

/** What a resource holds (MCP schema `ResourceContents`). */
export type ResourceContents =
  & { readonly uri: string; readonly mimeType?: string }
  & ({ readonly text: string } | { readonly blob: string });

/** What reading gives; `null` when the family has no such resource. */
export type ResourceOutcome = { readonly contents: readonly ResourceContents[] } | null;

/** A family of resources. */
export interface ResourceFamily {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Whether the address belongs to the family, whatever becomes of reading it. */
  owns(uri: string): boolean;
  /** The fixed addresses that this principal may see, in a stable order. */
  list(principal: Principal): readonly Resource[] | Promise<readonly Resource[]>;
  readonly templates: readonly ResourceTemplate[];
  read(uri: string, context: ToolContext): ResourceOutcome | Promise<ResourceOutcome>;
  /** How long a client may keep what it read. */
  readonly cacheHint: CacheHint;
  /** Suggests values for a template's variable. */
  readonly complete?: (
    uriTemplate: string,
    variable: string,
    value: string,
    others: Readonly<Record<string, string>>,
  ) => readonly string[] | Promise<readonly string[]>;
}

/** The families by name. */
export type ResourceRegistry = Registry<ResourceFamily, ResourceFamily>;

/** Makes a registry with some families in it. */
export function createResourceRegistry(families: Iterable<ResourceFamily>): ResourceRegistry {
  return createRegistry((family) => family.name, (family) => family, families);
}
