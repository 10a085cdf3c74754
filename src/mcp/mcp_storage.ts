/** What the protocol layer needs of the storage: the part of `Storage` in storage/port.ts that it uses. */

/** A key; see `StorageKey`. */
export type McpStorageKey = readonly [string, ...string[]];

/** Keeps what outlives a request. */
export interface McpStorage {
  get(key: McpStorageKey): Promise<{ readonly value: unknown; readonly version: string } | null>;
  /** `false`, and no change, when an entry has not the version that the batch wants. */
  commit(batch: {
    readonly checks?: readonly { readonly key: McpStorageKey; readonly version: string | null }[];
    readonly puts?: readonly { readonly key: McpStorageKey; readonly value: unknown; readonly expiresAt: number }[];
    readonly deletes?: readonly McpStorageKey[];
  }): Promise<boolean>;
  /** The entries below `prefix`, in key order. */
  list(
    prefix: McpStorageKey,
    options: { readonly limit: number; readonly after?: McpStorageKey },
  ): Promise<readonly { readonly key: McpStorageKey; readonly value: unknown }[]>;
  /** Calls `onChange` soon after the entry may have changed, whoever changed it, until the returned function is called. */
  watch(key: McpStorageKey, onChange: () => void): () => void;
  /** Differs whenever anything was stored in between. */
  changeCount(): number | Promise<number>;
}
