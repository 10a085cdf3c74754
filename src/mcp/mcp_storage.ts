/** What the protocol layer needs of the storage: the part of `Storage` in storage/port.ts that it uses. */

/** A key; see `StorageKey`. */
export type McpStorageKey = readonly [string, ...string[]];

/** Keeps what outlives a request. */
export interface McpStorage {
  get(key: McpStorageKey): Promise<{ readonly value: unknown } | null>;
  commit(batch: {
    readonly puts?: readonly { readonly key: McpStorageKey; readonly value: unknown; readonly expiresAt: number }[];
    readonly deletes?: readonly McpStorageKey[];
  }): Promise<boolean>;
  /** Differs whenever anything was stored in between. */
  changeCount(): number | Promise<number>;
}
