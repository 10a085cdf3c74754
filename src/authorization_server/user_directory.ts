/** Who may sign in: stored users, and the owner whose passphrase the settings may give. */
import type { Storage, VersionCheck } from "../storage/port.ts";
import { hashSecret } from "./random_secret.ts";
import type { Stored } from "./record_family.ts";
import { ownerId, type User, users } from "./records/user.ts";

/** Somebody who may sign in. */
export interface Account {
  readonly id: string;
  /** What people are shown; the id itself where there is nothing better. */
  readonly displayName: string;
  readonly passwordHash: string;
  /** Changes with the passphrase; sessions hold on to it. */
  readonly credentialHash: string;
  /** For a commit that must not overtake a change of this user. */
  readonly unchanged: VersionCheck;
}

/** Looks people up. */
export interface UserDirectory {
  /** The account, or `null` when there is none or it is disabled. */
  find(id: string): Promise<Account | null>;
  hasOwner(): Promise<boolean>;
  /** Whether anybody besides the owner can sign in, so that the page has to ask who it is. */
  hasNamedUsers(): Promise<boolean>;
}

/** Whether a user's tokens are still good: a disabled user's are not, from the moment of disabling on. */
export async function isActiveUser(storage: Storage, id: string): Promise<boolean> {
  const stored = await users.read(storage, id);
  return stored === null ? id === ownerId : !stored.value.disabled;
}

/** Users in storage; `ownerPasswordHash` takes the place of the owner's stored passphrase. */
export function createUserDirectory(storage: Storage, ownerPasswordHash: string | undefined): UserDirectory {
  const account = (id: string, passwordHash: string, stored: Stored<User> | null): Account => ({
    id,
    displayName: stored?.value.displayName ?? id,
    unchanged: { key: users.key(id), version: stored?.version ?? null },
    passwordHash,
    credentialHash: hashSecret(passwordHash),
  });
  return {
    async find(id) {
      const stored = await users.read(storage, id);
      if (stored?.value.disabled) return null;
      if (id === ownerId && ownerPasswordHash !== undefined) return account(id, ownerPasswordHash, stored);
      return stored === null ? null : account(id, stored.value.passwordHash, stored);
    },
    hasOwner: async () => ownerPasswordHash !== undefined || await users.read(storage, ownerId) !== null,
    async hasNamedUsers() {
      const stored = await users.list(storage, { limit: 2 });
      return stored.some(({ value }) => value.id !== ownerId);
    },
  };
}
