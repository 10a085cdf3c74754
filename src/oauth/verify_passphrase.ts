/** Checks a passphrase: behind the throttle, and without telling which names exist. */
import { addressKey } from "../lib/address_key.ts";
import type { SecretBox } from "../lib/secret_box.ts";
import type { Browser, Browsers } from "./browser_sessions.ts";
import { hiddenText } from "./hidden_text.ts";
import { noPassphrase } from "./records/user.ts";
import { canVerify, hashPassword, isOutdatedHash, type PasswordHasher } from "./password_hash.ts";
import type { PasswordThrottle } from "./password_throttle.ts";
import type { Account, UserDirectory } from "./user_directory.ts";

interface PassphraseChecks {
  readonly users: UserDirectory;
  readonly browsers: Browsers;
  readonly secrets: SecretBox;
  readonly passwords: PasswordHasher;
  readonly throttle: PasswordThrottle;
}

/** An attempt, from a browser at an address. */
interface Attempt {
  readonly browser: Browser;
  readonly userName: string;
  readonly passphrase: string;
  readonly address: string;
}

/** How an attempt went. `user` is fit for the log: an unknown name is hidden in it. */
type PassphraseOutcome =
  | { readonly ok: true; readonly user: string; readonly account: Account }
  | {
    readonly ok: false;
    readonly user: string;
    readonly reason:
      | "too_many_attempts"
      | "busy"
      | "unknown_user"
      | "disabled_user"
      | "wrong_passphrase"
      | "no_argon2id";
    /** Not judged: the caller has to wait. `null` for a wrong name or passphrase. */
    readonly retryAfterSeconds: number | null;
  };

const busySeconds = 2;

export async function verifyPassphrase(checks: PassphraseChecks, attempt: Attempt): Promise<PassphraseOutcome> {
  const { users, browsers, secrets, passwords, throttle } = checks;
  const { browser, userName, passphrase, address } = attempt;
  const account = await users.find(userName);
  const user = account === null ? hiddenText(secrets, userName) : account.id;
  const known = await browsers.isKnown(browser, userName);
  const throttleKey = known ? `browser ${browser.hash}` : addressKey(address);
  const admission = await throttle.begin(throttleKey, known);
  if (!admission.ok) {
    return { ok: false, user, reason: "too_many_attempts", retryAfterSeconds: admission.retryAfterSeconds };
  }
  // An unknown name, and a hash of another runtime, cost as much time as a wrong passphrase, so that names cannot be told apart.
  const hash = account?.passwordHash ?? noPassphrase;
  const isVerifiable = hash !== noPassphrase && await canVerify(hash);
  const verified = await passwords.verify(passphrase, isVerifiable ? hash : await decoyHash());
  if (verified === "busy") return { ok: false, user, reason: "busy", retryAfterSeconds: busySeconds };
  if (account === null || !isVerifiable || !verified) {
    const isDisabled = await users.isDisabled(userName); // for every refusal, so that none takes longer
    const reason = account === null
      ? isDisabled ? "disabled_user" : "unknown_user"
      : isVerifiable || hash === noPassphrase
      ? "wrong_passphrase"
      : "no_argon2id";
    return { ok: false, user, reason, retryAfterSeconds: null };
  }
  await throttle.succeed(throttleKey, known);
  if (await isOutdatedHash(account.passwordHash)) {
    const renewed = await passwords.hash(passphrase);
    if (renewed !== "busy") await users.keepHash(account, renewed);
  }
  return { ok: true, user, account };
}

let decoy: Promise<string> | undefined;

function decoyHash(): Promise<string> {
  decoy ??= hashPassword(crypto.randomUUID());
  return decoy;
}
