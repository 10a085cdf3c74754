/** Links in the storage, so that any instance serves them and each is used up once. */
import { equalInConstantTime, hashSecret, randomText } from "../../lib/random_secret.ts";
import type { SecretBox } from "../../lib/secret_box.ts";
import { parseStored } from "../../lib/storage_fault.ts";
import type { Storage, StorageKey } from "../../storage/port.ts";
import { linkSchema, type TransferRecord } from "./link_record.ts";

export interface TransferStore {
  /** Stores a link and gives its secret, which is kept nowhere. */
  issue(record: TransferRecord): Promise<string>;
  /** The id of a secret that this installation issued; `null` for a forged one, without a look at the storage. */
  idOf(secret: string): string | null;
  read(id: string): Promise<TransferRecord | null>;
  /** Changes the record, or deletes it, unless it changed meanwhile; `false` where `change` wants neither. */
  update(id: string, change: (record: TransferRecord) => TransferRecord | "delete" | "leave"): Promise<boolean>;
}

const randomBytesOfSecret = 24;
const randomLength = 32;
const markLength = 22; // 132 bits
const maxAttempts = 20;

export function createTransferStore(
  { storage, secrets, keepMs }: {
    readonly storage: Storage;
    readonly secrets: Pick<SecretBox, "authenticate">;
    /** How long after its end a link may still be running. */
    readonly keepMs: number;
  },
): TransferStore {
  const keyOf = (id: string): StorageKey => ["transfer_link", id];
  const markOf = (random: string): string => secrets.authenticate("transfer-link", random).slice(0, markLength);
  const parse = (value: unknown): TransferRecord => parseStored(linkSchema, value, "transfer_link");
  return {
    async issue(record) {
      const random = randomText(randomBytesOfSecret);
      const secret = random + markOf(random);
      await storage.commit({
        puts: [{ key: keyOf(hashSecret(secret)), value: record, expiresAt: record.expiresAt + keepMs }],
      });
      return secret;
    },
    idOf(secret) {
      if (secret.length !== randomLength + markLength) return null;
      const isOurs = equalInConstantTime(secret.slice(randomLength), markOf(secret.slice(0, randomLength)));
      return isOurs ? hashSecret(secret) : null;
    },
    async read(id) {
      const stored = await storage.get(keyOf(id));
      return stored === null ? null : parse(stored.value);
    },
    async update(id, change) {
      const key = keyOf(id);
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        const stored = await storage.get(key);
        if (stored === null) return false;
        const changed = change(parse(stored.value));
        if (changed === "leave") return false;
        const checks = [{ key, version: stored.version }];
        const done = await storage.commit(
          changed === "delete"
            ? { checks, deletes: [key] }
            : { checks, puts: [{ key, value: changed, expiresAt: changed.expiresAt + keepMs }] },
        );
        if (done) return true;
      }
      return false;
    },
  };
}
