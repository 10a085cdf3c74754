/** Hears when a token ends before its time: for streams, which outlive the request that showed the token. */
import { watchEntries } from "../lib/watch_entries.ts";
import type { Log } from "../lib/log.ts";
import type { Principal } from "../lib/principal.ts";
import type { Timers } from "../lib/timers.ts";
import type { Storage, StorageKey } from "../storage/port.ts";
import { operatorClientId } from "./operator_token.ts";
import { grants } from "./records/grant.ts";
import { operatorTokens } from "./records/operator_token.ts";
import { revokedTokens } from "./records/marks.ts";
import { signingKeys } from "./records/signing_key.ts";
import { users } from "./records/user.ts";

/** Calls `onRevoked` once when the principal's token is revoked, or its grant or user ends; not at its expiry. */
export type TokenWatch = (principal: Principal, onRevoked: () => void) => () => void;

/** What hangs on one token. */
interface Group {
  readonly ends: Set<() => void>;
  readonly stop: () => void;
}

/** Builds the watch. Whatever hangs on one token is looked at together. */
export function createTokenWatch(
  { storage, isLive, log, timers }: {
    readonly storage: Storage;
    readonly isLive: (principal: Principal) => Promise<boolean>;
    readonly log: Log;
    readonly timers?: Timers | undefined;
  },
): TokenWatch {
  const groups = new Map<string, Group>();

  const begin = (name: string, principal: Principal): Group => {
    const ends = new Set<() => void>();
    const watch = watchEntries(storage, recordsOf(principal), async () => {
      if (await isLive(principal)) return;
      for (const end of [...ends]) if (ends.delete(end)) end();
      leave(name);
    }, { log, timers });
    watch.look(); // it may have ended since the request's token was verified
    return { ends, stop: watch.stop };
  };
  const leave = (name: string): void => {
    const group = groups.get(name);
    if (group === undefined || group.ends.size > 0) return;
    groups.delete(name);
    group.stop();
  };

  return (principal, onRevoked) => {
    const name = `${principal.clientId} ${principal.tokenId}`;
    const group = groups.get(name) ?? begin(name, principal);
    groups.set(name, group);
    const end = (): void => onRevoked();
    group.ends.add(end);
    return () => {
      if (group.ends.delete(end)) leave(name);
    };
  };
}

/** The records that decide whether the token is alive; see `isLive` in verifier.ts. */
function recordsOf({ clientId, grantId, tokenId, keyId, subject }: Principal): readonly StorageKey[] {
  if (clientId === operatorClientId) return [operatorTokens.key(tokenId), users.key(subject)];
  const signedBy = keyId === null ? [] : [signingKeys.key(keyId)];
  return [grants.key(grantId), revokedTokens.key(tokenId), users.key(subject), ...signedBy];
}
