/** `/setup`: the first start. The holder of the console's link chooses the owner's passphrase, once. */
import { readBrowserForm } from "./own_form.ts";
import type { AuthorizationServerOptions } from "./context.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import { pathsOf } from "./interaction.ts";
import { type DeadEnd, errorPage, methodNotAllowedPage } from "./error_page.ts";
import { setUpDonePage, setUpPage } from "./set_up_page.ts";
import { seeOther } from "../lib/page.ts";
import { minPassphraseCharacters, passphraseProblem, type PasswordHasher } from "./password_hash.ts";
import { matchesHash, randomId } from "../lib/random_secret.ts";
import { type Stored, unchanged } from "./records/record_family.ts";
import { type SetUpCode, setUpCodes } from "./records/set_up_code.ts";
import { ownerId, users } from "./records/user.ts";
import type { UserDirectory } from "./user_directory.ts";

const repeatSeconds = 30;

interface SetUpOptions extends
  Pick<
    AuthorizationServerOptions,
    "issuer" | "resource" | "storage" | "secrets" | "clock" | "log" | "limits" | "hasConsole" | "servicenow"
  > {
  readonly users: UserDirectory;
  readonly passwords: PasswordHasher;
}

export function createSetUpEndpoint(options: SetUpOptions): Endpoint {
  return async (request, peer) => {
    if (request.method === "GET") {
      const { searchParams } = new URL(request.url);
      if (searchParams.has("ready") && await options.users.hasOwner()) {
        const { grants, home, servicenowLink } = pathsOf(options.issuer);
        const consolePath = options.hasConsole ? `${home}console` : null;
        return setUpDonePage({
          resource: options.resource,
          grantsPath: grants,
          consolePath,
          servicenowLinkPath: options.servicenow === undefined ? null : servicenowLink,
        });
      }
      const code = searchParams.get("code") ?? "";
      const found = await findCode(options, code);
      return typeof found === "string" ? refused(options, peer, found) : showPage(options, code);
    }
    if (request.method !== "POST") return methodNotAllowedPage("GET", "POST");
    const form = await readBrowserForm(request, options.limits);
    if (!form.ok) return errorPage(form.error);
    const code = form.value.get("code") ?? "";
    const passphrase = form.value.get("passphrase") ?? "";
    const found = await findCode(options, code);
    if (typeof found === "string") {
      return await isRepeated(options, code, passphrase) ? readyResponse(options) : refused(options, peer, found);
    }
    const problem = passphraseProblem(passphrase) ??
      (passphrase === form.value.get("confirmation") ? null : "The two passphrases differ. Type the same one twice.");
    if (problem !== null) return showPage(options, code, problem);
    return await makeOwner(options, { code, found, passphrase, peer });
  };
}

function refused({ log }: SetUpOptions, peer: Peer, reason: DeadEnd): Response {
  log.write("audit", "set_up", { outcome: "refused", reason, address: peer.address });
  return errorPage(reason);
}

function showPage({ issuer }: SetUpOptions, code: string, problem?: string): Response {
  return setUpPage({
    action: pathsOf(issuer).setUp,
    code,
    minCharacters: minPassphraseCharacters,
    ...(problem === undefined ? {} : { problem }),
  });
}

async function findCode(options: SetUpOptions, code: string): Promise<Stored<SetUpCode> | DeadEnd> {
  if (await options.users.hasOwner()) return "already_set_up";
  const stored = await setUpCodes.read(options.storage, "current");
  return stored !== null && matchesHash(code, stored.value.codeHash) ? stored : "set_up_link_invalid";
}

async function makeOwner(
  options: SetUpOptions,
  { code, found, passphrase, peer }: {
    code: string;
    found: Stored<SetUpCode>;
    passphrase: string;
    peer: Peer;
  },
): Promise<Response> {
  const { storage, passwords, clock, log } = options;
  const passwordHash = await passwords.hash(passphrase);
  if (passwordHash === "busy") return showPage(options, code, "The server is busy. Try again in a moment.");
  const now = clock();
  const owner = {
    id: ownerId,
    passwordHash,
    epoch: randomId(),
    disabled: false,
    createdAt: now,
    passwordChangedAt: now,
  };
  // One commit: the link is used up exactly when there is an owner, and only one of two parallel claims wins.
  const claimed = await storage.commit({
    checks: [unchanged(found), { key: users.key(ownerId), version: null }],
    puts: [
      users.put(ownerId, owner),
      setUpCodes.put("used", { codeHash: found.value.codeHash, seed: "" }, now + repeatSeconds * 1_000),
    ],
    deletes: [found.key],
  });
  if (!claimed) {
    return await isRepeated(options, code, passphrase)
      ? readyResponse(options)
      : refused(options, peer, "set_up_link_invalid");
  }
  log.write("audit", "set_up", { outcome: "claimed", user: ownerId, address: peer.address });
  return readyResponse(options);
}

/** To a page that a reload shows again. */
function readyResponse({ issuer }: SetUpOptions): Response {
  return seeOther(`${pathsOf(issuer).setUp}?ready`);
}

/** Whether this is the form that made the owner, sent a second time: a browser shows the answer to the second. */
async function isRepeated({ storage, passwords }: SetUpOptions, code: string, passphrase: string): Promise<boolean> {
  const used = await setUpCodes.read(storage, "used");
  if (used === null || !matchesHash(code, used.value.codeHash)) return false;
  const owner = await users.read(storage, ownerId);
  return owner !== null && await passwords.verify(passphrase, owner.value.passwordHash) === true;
}
