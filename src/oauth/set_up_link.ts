/** The one-time link to `/setup`, with which the first person becomes the owner. */
import { hashSecret, randomId } from "../lib/random_secret.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import type { UserDirectory } from "./manage_users.ts";
import { setUpCodes, unchanged } from "./records.ts";

const setUpLinkLifetimeMs = 600_000;

type SetUpLinkOptions = Pick<AuthorizationServerOptions, "issuer" | "storage" | "secrets" | "clock"> & {
  readonly users: UserDirectory;
};

/**
 * Makes the one-time link; `null` when there is an owner already. It voids the one before it, unless `isShared`: then a
 * link that is still good is given again, for installations of several instances.
 */
export async function issueSetUpLink(options: SetUpLinkOptions, isShared: boolean): Promise<string | null> {
  const { issuer, storage, secrets, clock } = options;
  for (;;) {
    if (await options.users.hasOwner()) return null;
    const found = await setUpCodes.read(storage, "current");
    const seed = isShared && found !== null ? found.value.seed : randomId();
    const code = secrets.authenticate("set-up-link", seed);
    const issued = await storage.commit({
      checks: [found === null ? { key: setUpCodes.key("current"), version: null } : unchanged(found)],
      puts: [setUpCodes.put("current", { codeHash: hashSecret(code), seed }, clock() + setUpLinkLifetimeMs)],
    });
    if (issued) return `${issuer}/setup?code=${code}`;
  }
}
