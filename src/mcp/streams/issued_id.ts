/** Ids that any instance knows to be issued by one of them, for one session: no made-up id leads to work or a write. */
import { Buffer } from "node:buffer";
import { randomBytes, timingSafeEqual } from "node:crypto";
import type { SecretBox } from "../../lib/secret_box.ts";

/** Issues ids and knows them again. */
interface IssuedIds {
  /** A new id for a session. */
  issue(owner: string): string;
  /** Whether the id was issued for this session, by any instance. */
  isIssued(id: string, owner: string): boolean;
}

const randomLength = 12;
const markBytes = 12;
/** The length of every issued id. */
export const issuedIdLength: number = randomLength + markBytes * 4 / 3;

/** Ids of one purpose; those of another are none here. */
export function createIssuedIds(secretBox: Pick<SecretBox, "authenticate">, purpose: string): IssuedIds {
  const markOf = (random: string, owner: string): string =>
    Buffer.from(secretBox.authenticate(purpose, `${random} ${owner}`).subarray(0, markBytes)).toString("base64url");
  return {
    issue(owner) {
      const random = randomBytes(randomLength * 3 / 4).toString("base64url");
      return random + markOf(random, owner);
    },
    isIssued(id, owner) {
      const random = id.slice(0, randomLength);
      const [given, right] = [Buffer.from(id.slice(randomLength)), Buffer.from(markOf(random, owner))];
      return given.byteLength === right.byteLength && timingSafeEqual(given, right);
    },
  };
}
