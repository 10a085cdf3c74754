/**
 * `/invitation`: the holder of a link that an administrator made chooses the passphrase of a new user, or a new one of
 * a user who is there. The link works once, for three days.
 */
import type { AdministrationOptions, AuthorizationServerOptions } from "./context.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { seeOther } from "../lib/page.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { hashSecret, randomSecret } from "../lib/random_secret.ts";
import { readBrowserForm } from "./own_form.ts";
import { pathsOf } from "./interaction.ts";
import { errorPage, methodNotAllowedPage } from "./error_page.ts";
import { setUpPage } from "./set_up_page.ts";
import { invitations } from "./records/marks.ts";
import { ownerId, users } from "./records/user.ts";
import type { Storage } from "../storage/port.ts";
import { addUser, existingUserProblem, newUserProblem, resetUser, type UserProblem } from "./manage_users.ts";
import { minPassphraseCharacters, passphraseProblem } from "./password_hash.ts";

const lifetimeMs = 3 * 86_400_000;

type Invitation = Exclude<Awaited<ReturnType<typeof invitations.read>>, null>;

/** Makes the code of a link: for a name that is free (`new`), or for a user who is there (`reset`). */
export async function invite(
  { storage, clock }: AdministrationOptions,
  { userId, kind, by }: { readonly userId: string; readonly kind: "new" | "reset"; readonly by: string },
): Promise<Result<string, UserProblem>> {
  const problem = await (kind === "new" ? newUserProblem : existingUserProblem)({ storage }, userId);
  if (problem !== null) return failure(problem);
  const code = `pci_${randomSecret()}`;
  const epoch = kind === "reset" ? (await users.read(storage, userId))?.value.epoch : undefined;
  const invitation = { userId, kind, by, ...(epoch === undefined ? {} : { epoch }) };
  await storage.commit({ puts: [invitations.put(hashSecret(code), invitation, clock() + lifetimeMs)] });
  return success(code);
}

/** The invitation of a code, while its maker is an administrator and its user is as they were. */
async function readInvitation(storage: Storage, code: string): Promise<Invitation | null> {
  const found = await invitations.read(storage, hashSecret(code));
  if (found === null) return null;
  const { userId, by = ownerId, epoch } = found.value;
  const maker = by === ownerId ? null : await users.read(storage, by);
  if (by !== ownerId && (maker === null || maker.value.disabled || maker.value.administrator !== true)) return null;
  return epoch === undefined || (await users.read(storage, userId))?.value.epoch === epoch ? found : null;
}

export function createInvitationEndpoint(
  options: Pick<AuthorizationServerOptions, "issuer" | "storage" | "clock" | "log" | "limits">,
): Endpoint {
  const { issuer, storage, log, limits } = options;
  const show = (code: string, { value: { userId } }: Invitation, problem?: string): Response =>
    setUpPage({
      action: `${pathsOf(issuer).home}invitation`,
      code,
      userName: userId,
      minCharacters: minPassphraseCharacters,
      ...(problem === undefined ? {} : { problem }),
    });
  return async (request, { address }) => {
    if (request.method === "GET") {
      const code = new URL(request.url).searchParams.get("code") ?? "";
      const found = await readInvitation(storage, code);
      return found === null ? errorPage("invitation_invalid") : show(code, found);
    }
    if (request.method !== "POST") return methodNotAllowedPage("GET", "POST");
    const form = await readBrowserForm(request, limits);
    if (!form.ok) return errorPage(form.error);
    const code = form.value.get("code") ?? "";
    const passphrase = form.value.get("passphrase") ?? "";
    const found = await readInvitation(storage, code);
    if (found === null) {
      log.write("audit", "invitation", { outcome: "refused", reason: "invitation_invalid", address });
      return errorPage("invitation_invalid");
    }
    const problem = passphraseProblem(passphrase) ??
      (passphrase === form.value.get("confirmation") ? null : "The two passphrases differ. Type the same one twice.");
    if (problem !== null) return show(code, found, problem);
    // Used up first: of two that post it at once, one gets the user.
    if (await storage.consume(found.key) === null) return errorPage("invitation_invalid");
    const { userId, kind } = found.value;
    const done = await (kind === "new" ? addUser : resetUser)(options, { name: userId, passphrase });
    log.write("audit", "invitation", { outcome: done.ok ? kind : "refused", user: userId, address });
    return done.ok ? seeOther(pathsOf(issuer).grants) : errorPage("invitation_invalid");
  };
}
