/** MACed ids, each for one session: any instance can reject a forged id without touching the storage. */
import { equalInConstantTime, randomText } from "../lib/random_secret.ts";
import type { SecretBox } from "../lib/secret_box.ts";

interface IssuedIds {
  /** A new id for a session. */
  issue(owner: string): string;
  /** Whether the id was issued for this session, by any instance. */
  isIssued(id: string, owner: string): boolean;
}

const randomLength = 12;
const markLength = 16;
export const issuedIdLength: number = randomLength + markLength;

/** Ids of one purpose; those of another are none here. */
export function createIssuedIds(secretBox: Pick<SecretBox, "authenticate">, purpose: string): IssuedIds {
  const markOf = (random: string, owner: string): string =>
    secretBox.authenticate(purpose, `${random} ${owner}`).slice(0, markLength);
  return {
    issue(owner) {
      const random = randomText(randomLength * 3 / 4);
      return random + markOf(random, owner);
    },
    isIssued(id, owner) {
      return equalInConstantTime(id.slice(randomLength), markOf(id.slice(0, randomLength), owner));
    },
  };
}
