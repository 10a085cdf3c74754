/**
 * A link from the command line that lets one browser past the delays which guessing elsewhere causes. It makes the
 * browser a known one but signs no user in: the passphrase is still required, and wrong ones are delayed by browser.
 */
import type { AdministrationOptions } from "./context.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { Storage } from "../storage/port.ts";
import type { Browser, Browsers } from "./browser_sessions.ts";
import { noSuchUser, type UserProblem } from "./manage_users.ts";
import { hashSecret, randomSecret } from "../lib/random_secret.ts";
import { signInLinks } from "./records/marks.ts";
import { ownerId, users } from "./records/user.ts";

const lifetimeMs = 600_000;

/** Makes the code of a link for a user; the owner may have none stored (OWNER_PASSWORD_HASH). */
export async function createSignInCode(
  { storage, clock }: AdministrationOptions,
  userId: string,
): Promise<Result<string, UserProblem>> {
  const user = userId === "" ? null : await users.read(storage, userId);
  if (user === null && userId !== ownerId) return failure(noSuchUser(userId));
  if (user?.value.disabled) {
    return failure({ field: "name", message: `${userId} is disabled; \`users enable ${userId}\` comes first` });
  }
  const code = `pcl_${randomSecret()}`;
  await storage.commit({ puts: [signInLinks.put(hashSecret(code), { userId }, clock() + lifetimeMs)] });
  return success(code);
}

/** Uses the code up: the browser is known from then on. The user's name, or `null` for a code that is not good. */
export async function openSignInLink(
  { storage, browsers }: { readonly storage: Storage; readonly browsers: Browsers },
  browser: Browser,
  code: string,
): Promise<string | null> {
  const link = await signInLinks.read(storage, hashSecret(code));
  if (link === null || await storage.consume(link.key) === null) return null;
  await browsers.know(browser, link.value.userId);
  return link.value.userId;
}
