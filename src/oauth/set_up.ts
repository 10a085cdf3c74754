/** `/setup`: the first start. The holder of the console's link chooses the owner's passphrase, once. */
import { type Browser, type Browsers, readBrowserForm } from "./browser_sessions.ts";
import type { AdministrationOptions, AuthorizationServerOptions } from "./context.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import { type InteractionOptions, pathsOf, showSignIn } from "./interaction.ts";
import { type DeadEnd, errorPage, methodNotAllowedPage } from "./error_page.ts";
import { setUpDonePage, setUpPage } from "./sign_in_page.ts";
import { seeOther } from "../lib/page.ts";
import { minPassphraseCharacters, passphraseProblem, type PasswordHasher } from "./password_hash.ts";
import { hashSecret, matchesHash, randomId, randomSecret } from "../lib/random_secret.ts";
import {
  invitations,
  ownerId,
  type SetUpCode,
  setUpCodes,
  signInLinks,
  type Stored,
  unchanged,
  users,
} from "./records.ts";
import {
  addUser,
  existingUserProblem,
  newUserProblem,
  noSuchUser,
  resetUser,
  type UserDirectory,
  type UserProblem,
} from "./manage_users.ts";
import { failure, type Result, success } from "../lib/result.ts";
import type { Storage } from "../storage/mod.ts";

const repeatSeconds = 30;

interface SetUpOptions extends
  Pick<
    AuthorizationServerOptions,
    "issuer" | "resource" | "storage" | "secrets" | "clock" | "log" | "limits" | "hasConsole" | "servicenow"
  > {
  readonly users: UserDirectory;
  readonly browsers: Browsers;
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
      return await isRepeated(options, code, passphrase)
        ? await readyResponse(options, request)
        : refused(options, peer, found);
    }
    const problem = passphraseProblem(passphrase) ??
      (passphrase === form.value.get("confirmation") ? null : "The two passphrases differ. Type the same one twice.");
    if (problem !== null) return showPage(options, code, problem);
    return await makeOwner(options, { request, code, found, passphrase, peer });
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
  { request, code, found, passphrase, peer }: {
    request: Request;
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
      ? await readyResponse(options, request)
      : refused(options, peer, "set_up_link_invalid");
  }
  log.write("audit", "set_up", { outcome: "claimed", user: ownerId, address: peer.address });
  return await readyResponse(options, request);
}

/** Signs the owner in, and leads to a page that a reload shows again. */
async function readyResponse({ issuer, users, browsers }: SetUpOptions, request: Request): Promise<Response> {
  const owner = await users.find(ownerId);
  const browser = browsers.identify(request);
  const { cookies } = browser;
  return seeOther(
    `${pathsOf(issuer).setUp}?ready`,
    owner === null ? cookies : [...cookies, await browsers.signIn(request, owner, browser)],
  );
}

/** Whether this is the form that made the owner, sent a second time: a browser shows the answer to the second. */
async function isRepeated({ storage, passwords }: SetUpOptions, code: string, passphrase: string): Promise<boolean> {
  const used = await setUpCodes.read(storage, "used");
  if (used === null || !matchesHash(code, used.value.codeHash)) return false;
  const owner = await users.read(storage, ownerId);
  return owner !== null && await passwords.verify(passphrase, owner.value.passwordHash) === true;
}

// * `/invitation`: the holder of a link that an administrator made chooses the passphrase of a new user, or a new one of
// a user who is there. The link works once, for three days.

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
  const expiresAt = clock() + lifetimeMs;
  const id = hashSecret(code);
  const invitation = { id, userId, kind, by, expiresAt, ...(epoch === undefined ? {} : { epoch }) };
  await storage.commit({ puts: [invitations.put(id, invitation, expiresAt)] });
  return success(code);
}

/** An invitation that waits for its holder. */
export interface PendingInvitation extends Pick<Invitation["value"], "userId" | "kind"> {
  readonly id: string;
  readonly by: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Those that are still good. */
const maxListedInvitations = 100;

export async function listInvitations({ storage }: AdministrationOptions): Promise<readonly PendingInvitation[]> {
  const stored = await invitations.list(storage, { limit: maxListedInvitations });
  const isGood = await Promise.all(stored.map(({ value }) => isInvitationGood(storage, value)));
  return stored.flatMap(({ value: { id, userId, kind, by = ownerId, expiresAt } }, index) =>
    isGood[index] && id !== undefined && expiresAt !== undefined ? [{ id, userId, kind, by, expiresAt }] : []
  );
}

/** `false` when there is none any more. */
export async function withdrawInvitation({ storage }: AdministrationOptions, id: string): Promise<boolean> {
  return id !== "" && await storage.consume(invitations.key(id)) !== null;
}

/** The invitation of a code, while its maker is an administrator and its user is as they were. */
async function readInvitation(storage: Storage, code: string): Promise<Invitation | null> {
  const found = await invitations.read(storage, hashSecret(code));
  if (found === null) return null;
  return await isInvitationGood(storage, found.value) ? found : null;
}

async function isInvitationGood(
  storage: Storage,
  { userId, kind, by = ownerId, epoch }: Invitation["value"],
): Promise<boolean> {
  const maker = by === ownerId ? null : await users.read(storage, by);
  if (by !== ownerId && (maker === null || maker.value.disabled || maker.value.administrator !== true)) return false;
  const user = await users.read(storage, userId);
  return kind === "new" ? user === null : epoch === undefined || user?.value.epoch === epoch;
}

export function createInvitationEndpoint(options: InteractionOptions): Endpoint {
  const { issuer, storage, log, limits, secrets, browsers } = options;
  const markOf = (userName: string): string => secrets.authenticate("invitation-done", userName);
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
      const { searchParams } = new URL(request.url);
      const userName = searchParams.get("for");
      if (userName !== null && searchParams.get("done") === markOf(userName)) {
        const browser = browsers.identify(request);
        const next = options.hasConsole ? "console" : "grants";
        const done = `Your passphrase is set. Sign in as ${userName}.`;
        const shown = { userName, done, asOther: true, cookies: browser.cookies };
        return await showSignIn(options, { kind: "account", browser, next }, shown);
      }
      const code = searchParams.get("code") ?? "";
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
    if (!done.ok) return errorPage("invitation_invalid");
    return seeOther(`${pathsOf(issuer).home}invitation?${new URLSearchParams({ for: userId, done: markOf(userId) })}`);
  };
}

// * A link from the command line that lets one browser past the delays which guessing elsewhere causes. It makes the
// browser a known one but signs no user in: the passphrase is still required, and wrong ones are delayed by browser.

const signInLinkLifetimeMs = 600_000;

/** Makes the code of a link for a user; the owner may have none stored (OWNER_PASSWORD_HASH). */
export async function createSignInCode(
  { storage, clock }: AdministrationOptions,
  userId: string,
): Promise<Result<string, UserProblem>> {
  const user = userId === "" ? null : await users.read(storage, userId);
  if (user === null && userId !== ownerId) return failure(noSuchUser(userId));
  if (user?.value.disabled) {
    return failure({
      field: "name",
      message: `${userId} is disabled; \`portcullis users enable ${userId}\` comes first`,
    });
  }
  const code = `pcl_${randomSecret()}`;
  await storage.commit({ puts: [signInLinks.put(hashSecret(code), { userId }, clock() + signInLinkLifetimeMs)] });
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
