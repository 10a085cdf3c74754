/** Who may sign in: stored users, and the owner whose passphrase the settings may give. */
import type { Storage, VersionCheck } from "../storage/port.ts";
import { hashSecret } from "../lib/random_secret.ts";
import type { Stored } from "./records/record_family.ts";
import type { Grant } from "./records/grant.ts";
import type { OperatorToken } from "./records/operator_token.ts";
import { ownerId, type User, users } from "./records/user.ts";

export interface Account {
  readonly id: string;
  /** Shown to users; the id itself where there is nothing better. */
  readonly displayName: string;
  readonly passwordHash: string;
  /** The owner, or named by the owner: for the console. */
  readonly isAdministrator: boolean;
  /** Changes with the passphrase: sessions, codes and grants hold on to it and end with it. */
  readonly credentialHash: string;
  /** For a commit that must not overtake a change of this user. */
  readonly unchanged: VersionCheck;
}

export interface UserDirectory {
  /** The account, or `null` when there is none or it is disabled. */
  find(id: string): Promise<Account | null>;
  isDisabled(id: string): Promise<boolean>;
  /** Whether a token made at the command line may act for its user; the owner may have some before set-up. */
  isLiveToken(token: Pick<OperatorToken, "userId" | "userEpoch">): Promise<boolean>;
  /** Keeps a better hash of the same passphrase, unless the user was changed meanwhile; what the settings give stays. */
  keepHash(account: Account, passwordHash: string): Promise<void>;
  hasOwner(): Promise<boolean>;
  /** Whether users other than the owner can sign in, so that the page must ask for a name. */
  hasNamedUsers(): Promise<boolean>;
}

/** Whether a stored grant is alive: its user may sign in and has not changed the passphrase since. */
export async function isLiveGrant(users: Pick<UserDirectory, "find">, grant: Grant): Promise<boolean> {
  return grant.kind === "client" || (await users.find(grant.subject))?.credentialHash === grant.credentialHash;
}

/** Users in storage; `ownerPasswordHash` takes the place of the owner's stored passphrase. */
export function createUserDirectory(storage: Storage, ownerPasswordHash: string | undefined): UserDirectory {
  const isGiven = (id: string): boolean => id === ownerId && ownerPasswordHash !== undefined;
  const account = (id: string, passwordHash: string, stored: Stored<User> | null): Account => ({
    id,
    displayName: stored?.value.displayName ?? id,
    unchanged: { key: users.key(id), version: stored?.version ?? null },
    passwordHash,
    isAdministrator: id === ownerId || stored?.value.administrator === true,
    // A stored passphrase changes with the epoch, and may be hashed anew without it.
    credentialHash: hashSecret(`${stored?.value.epoch ?? ""}/${isGiven(id) ? passwordHash : ""}`),
  });
  return {
    async find(id) {
      const stored = await users.read(storage, id);
      if (stored?.value.disabled) return null;
      if (id === ownerId && ownerPasswordHash !== undefined) return account(id, ownerPasswordHash, stored);
      return stored === null ? null : account(id, stored.value.passwordHash, stored);
    },
    isDisabled: async (id) => (await users.read(storage, id))?.value.disabled === true,
    async isLiveToken({ userId, userEpoch }) {
      const stored = await users.read(storage, userId);
      if (stored === null) return userId === ownerId;
      return !stored.value.disabled && (userEpoch === undefined || userEpoch === stored.value.epoch);
    },
    async keepHash({ id, passwordHash: outdated, unchanged }, passwordHash) {
      const stored = await users.read(storage, id);
      if (stored === null || stored.value.passwordHash !== outdated) return;
      await storage.commit({ checks: [unchanged], puts: [users.put(id, { ...stored.value, passwordHash })] });
    },
    hasOwner: async () => ownerPasswordHash !== undefined || await users.read(storage, ownerId) !== null,
    async hasNamedUsers() {
      const stored = await users.list(storage, { limit: 2 });
      return stored.some(({ value }) => value.id !== ownerId);
    },
  };
}
