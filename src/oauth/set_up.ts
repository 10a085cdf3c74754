/**
 * `/setup` and `/invitation`: the holder of a one-time link chooses a passphrase, and is signed in. `/setup` is the
 * first start, whose link the console prints: it makes the owner. `/invitation` is for those whom an administrator
 * invited, or whose passphrase is reset.
 */
import * as z from "zod";
import { csrfToken, foreignForm, isCsrfToken, readBrowserForm } from "./browser_sessions.ts";
import type { AdministrationOptions } from "./context.ts";
import type { Endpoint, Peer } from "../lib/endpoint.ts";
import { errorPage, pathsOf, postForm, wrongMethodPage } from "./interaction.ts";
import type { DeadEnd, InteractionOptions } from "./interaction.ts";
import { basePathOf, html, pageResponse, seeOther } from "../lib/page.ts";
import { minPassphraseCharacters, passphraseProblem, type PasswordHasher } from "./password_hash.ts";
import {
  connectCard,
  connectionAnswer,
  connectionLine,
  connectionPath,
  connectScript,
  userAsking,
} from "../lib/connect_card.ts";
import { listAccess } from "./grants.ts";
import { requestHost } from "../lib/request_text.ts";
import { hashSecret, matchesHash, randomSecret } from "../lib/secrets.ts";
import { defineRecordFamily, ownerId, type RecordOf, setUpCodes, type Stored, unchanged, users } from "./records.ts";
import { addUser, existingUserProblem, newUser, newUserProblem, resetUser } from "./manage_users.ts";
import type { Account, UserProblem } from "./manage_users.ts";
import { failure, type Result, success } from "../lib/result.ts";

/** `["invitation", SHA-256 of the code]`, expiring: its holder chooses the passphrase of this user. */
const invitations = defineRecordFamily("invitation", () => ({
  /** The SHA-256 again, for lists. */
  id: z.string(),
  /** Milliseconds since the epoch. */
  expiresAt: z.number(),
  userId: z.string(),
  kind: z.enum(["new", "reset"]),
  /** The administrator who made it. */
  by: z.string(),
  /** Of the user when a reset was made: any later one, or disabling, ends it. */
  epoch: z.string().optional(),
}));

interface SetUpOptions extends InteractionOptions {
  readonly resource: string;
  readonly passwords: PasswordHasher;
  readonly renewSetUpLink: () => Promise<boolean>;
}

/** A kind of link whose holder chooses a passphrase. */
interface PassphraseLink<Found> {
  /** In the log. */
  readonly event: "set_up" | "invitation";
  readonly path: string;
  find(code: string): Promise<Result<Found, DeadEnd>>;
  /** Whose passphrase it is. */
  userOf(found: Found): string;
  /** Uses the link up and keeps the passphrase: the outcome for the log, `null` where another request was first. */
  claim(found: Found, passphrase: string): Promise<string | "busy" | null>;
}

/** `/setup`. */
export function createSetUpEndpoint(options: SetUpOptions): Endpoint {
  const { issuer, storage, clock, users: directory, browsers, passwords } = options;
  const choose = choosePassphrase(options, {
    event: "set_up",
    path: pathsOf(issuer).setUp,
    userOf: () => ownerId,
    async find(code) {
      if (await directory.hasOwner()) return failure("already_set_up");
      const stored = await setUpCodes.read(storage, "current");
      if (stored === null && await options.renewSetUpLink()) return failure("set_up_link_expired");
      return stored !== null && matchesHash(code, stored.value.codeHash)
        ? success(stored)
        : failure("set_up_link_invalid");
    },
    async claim(found, passphrase) {
      const passwordHash = await passwords.hash(passphrase);
      if (passwordHash === "busy") return "busy";
      // One commit: the link is used up exactly when there is an owner, and only one of two parallel claims wins.
      const claimed = await storage.commit({
        checks: [unchanged(found), users.check(null, ownerId)],
        puts: [users.put(ownerId, newUser(ownerId, clock(), { passwordHash }))],
        deletes: [found.key],
      });
      return claimed ? "claimed" : null;
    },
  });
  return async (request, peer) => {
    const { searchParams } = new URL(request.url);
    if (request.method === "GET" && searchParams.has("connection")) {
      const userId = userAsking(options.secrets, searchParams);
      return userId === null
        ? new Response(null, { status: 404 })
        : connectionAnswer(await newestClient(options, userId));
    }
    const isReady = request.method === "GET" && searchParams.has("ready");
    if (!isReady || !await directory.hasOwner()) return await choose(request, peer);
    return await readyPage(options, request, (await browsers.signedIn(request))?.account);
  };
}

/** `/invitation`. Where people sign in elsewhere, a passphrase must not be a way around. */
export function createInvitationEndpoint(options: SetUpOptions): Endpoint {
  const { issuer, storage } = options;
  return choosePassphrase<Invitation>(options, {
    event: "invitation",
    path: `${pathsOf(issuer).home}invitation`,
    userOf: ({ value: { userId } }) => userId,
    async find(code) {
      if (options.signInElsewhere !== undefined) return failure("sign_in_elsewhere");
      const found = await invitations.read(storage, hashSecret(code));
      const account = found === null ? null : await options.users.find(found.value.userId);
      if (account !== null && account.company !== null) return failure("sign_in_elsewhere");
      return found !== null && await isInvitationGood(options, found.value)
        ? success(found)
        : failure("invitation_invalid");
    },
    async claim({ key, value: { userId, kind } }, passphrase) {
      // Used up first: of two that post it at once, one gets the user.
      if (await storage.consume(key) === null) return null;
      const done = await (kind === "new" ? addUser : resetUser)(options, { name: userId, passphrase });
      return done.ok ? kind : null;
    },
  });
}

function choosePassphrase<Found>(options: SetUpOptions, link: PassphraseLink<Found>): Endpoint {
  const { issuer, log, limits, secrets, users: directory, browsers } = options;

  const refuse = ({ address }: Peer, reason: DeadEnd): Response => {
    log.write("audit", link.event, { outcome: "refused", reason, address });
    return errorPage(issuer, reason);
  };
  const show = (request: Request, code: string, found: Found, problem?: string): Response => {
    const browser = browsers.identify(request);
    const csrf = csrfToken(secrets, browser);
    return choicePage(link, { code, csrf, cookies: browser.cookies, userName: link.userOf(found), problem });
  };
  const choose = async (request: Request, peer: Peer, form: URLSearchParams): Promise<Response> => {
    const code = form.get("code") ?? "";
    const passphrase = form.get("passphrase") ?? "";
    const found = await link.find(code);
    if (!found.ok) return refuse(peer, found.error);
    // login CSRF: another site's page could make this browser choose a passphrase, which signs it in as someone else
    const browser = browsers.identify(request);
    if (!isCsrfToken(secrets, browser, form.get("csrf") ?? "")) return refuse(peer, foreignForm(browser));
    const problem = passphraseProblem(passphrase) ??
      (passphrase === form.get("confirmation") ? null : "The two passphrases differ. Type the same one twice.");
    if (problem !== null) return show(request, code, found.value, problem);
    const outcome = await link.claim(found.value, passphrase);
    if (outcome === "busy") return show(request, code, found.value, "The server is busy. Try again in a moment.");
    if (outcome === null) return refuse(peer, link.event === "set_up" ? "set_up_link_invalid" : "invitation_invalid");
    const user = link.userOf(found.value);
    log.write("audit", link.event, { outcome, user, address: peer.address });
    const account = await directory.find(user);
    if (account === null) return errorPage(issuer, "account_disabled");
    // A new session leads to a page that a reload shows again.
    return seeOther(`${pathsOf(issuer).setUp}?ready`, [await browsers.signIn(request, account)]);
  };
  return async (request, peer) => {
    if (request.method === "GET") {
      const code = new URL(request.url).searchParams.get("code") ?? "";
      const found = await link.find(code);
      return found.ok ? show(request, code, found.value) : refuse(peer, found.error);
    }
    if (request.method !== "POST") return wrongMethodPage(issuer, "GET", "POST");
    const form = await readBrowserForm(request, limits);
    return form.ok ? await choose(request, peer, form.value) : errorPage(issuer, form.error);
  };
}

/** A button after the first passphrase that shows what is typed, and one click sends the form. Without script, neither. */
const showPassphraseScript = `
"use strict";
(() => {
  const fields = document.querySelectorAll("input[type=password]");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain small show";
  button.textContent = "Show";
  button.addEventListener("click", () => {
    const isHidden = fields[0].type === "password";
    for (const field of fields) field.type = isHidden ? "text" : "password";
    button.textContent = isHidden ? "Hide" : "Show";
  });
  fields[0]?.after(button);
  fields[0]?.form.addEventListener("submit", ({ target }) => {
    for (const send of target.querySelectorAll("button[type=submit]")) send.disabled = true;
  });
})();
`;

/** The page with the form. */
function choicePage(
  { event, path }: Pick<PassphraseLink<unknown>, "event" | "path">,
  { code, csrf, cookies, userName, problem }: {
    readonly code: string;
    readonly csrf: string;
    readonly cookies: readonly string[];
    readonly userName: string;
    readonly problem?: string | undefined;
  },
): Response {
  const isSetUp = event === "set_up";
  const invalid = problem !== undefined && html`aria-invalid="true"`;
  return pageResponse({
    title: isSetUp ? "Set up" : "Choose a passphrase",
    script: showPassphraseScript,
    cookies,
    status: problem === undefined ? 200 : 422,
    body: html`
      <h1>${isSetUp ? "Set up this server" : "Choose your passphrase"}</h1>
      <p><strong>${userName}</strong> signs in and approves clients with this passphrase.</p>
      ${problem === undefined ? null : html`<p class="note bad" id="problem" role="alert">${problem}</p>`}
      ${postForm(
        path,
        [["code", code], ["csrf", csrf]],
        html`
          <input type="text" name="username" value="${userName}" autocomplete="username" readonly hidden>
          <label class="field" for="passphrase">Passphrase</label>
          <input type="password" id="passphrase" name="passphrase" autocomplete="new-password" required autofocus
            minlength="${minPassphraseCharacters}" maxlength="1024" aria-describedby="rule" ${invalid}>
          <p class="hint" id="rule">At least ${minPassphraseCharacters} characters, such as four unrelated words.</p>
          <label class="field" for="confirmation">Repeat the passphrase</label>
          <input type="password" id="confirmation" name="confirmation" autocomplete="new-password" required
            minlength="${minPassphraseCharacters}" maxlength="1024">
          <div class="actions"><button type="submit">Set passphrase</button></div>
        `,
      )}
    `,
  });
}

/** What the client is called that a user connected last. */
async function newestClient(options: SetUpOptions, userId: string): Promise<string | null> {
  return (await listAccess(options, userId)).grants[0]?.clientName ?? null;
}

/** The page after that: how to connect a client, and for the person who is signed in, whether one is. */
async function readyPage(options: SetUpOptions, request: Request, account: Account | undefined): Promise<Response> {
  const { issuer, resource, resourceAliases, hasConsole, servicenow, secrets } = options;
  const { grants, home, servicenowLink } = pathsOf(issuer);
  const host = requestHost(request)?.toLowerCase();
  const opened = resourceAliases.find((each) => new URL(each).host === host) ?? resource;
  return pageResponse({
    title: "Ready",
    script: connectScript,
    isLive: true,
    body: html`
      <h1>This server is ready</h1>
      ${account?.id !== ownerId &&
        html`<p>${account ? "Signed in as" : "Your user name is"} <strong>${
          account?.displayName ?? ownerId
        }</strong>.</p>`}
      ${connectCard(opened)}
      ${account &&
        connectionLine(
          await newestClient(options, account.id),
          connectionPath(basePathOf(issuer), secrets, account.id),
        )}
      ${servicenow !== undefined &&
        html`<p>To use ServiceNow through it, <a href="${servicenowLink}">link your ServiceNow account</a>.</p>`}
      <p class="quiet"><a href="${hasConsole ? `${home}console` : grants}">${hasConsole
        ? "Console"
        : "Access page"}</a></p>
    `,
  });
}

/** How long the link of an invitation works. */
const lifetimeMs = 3 * 86_400_000;

type Invitation = Stored<RecordOf<typeof invitations>>;

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

/** Invitations and resets listed at most. */
const maxListedInvitations = 100;

/** Invitations and resets that can still be used, at most {@link maxListedInvitations}. */
export async function listInvitations(
  options: Parameters<typeof isInvitationGood>[0],
): Promise<readonly Invitation["value"][]> {
  const stored = await invitations.list(options.storage, { limit: maxListedInvitations });
  const isGood = await Promise.all(stored.map(({ value }) => isInvitationGood(options, value)));
  return stored.map(({ value }) => value).filter((_, index) => isGood[index]);
}

/** `false` when there is none any more. */
export async function withdrawInvitation({ storage }: AdministrationOptions, id: string): Promise<boolean> {
  return await storage.consume(invitations.key(id)) !== null;
}

/** Whether its maker is still an administrator and its user is as they were. */
async function isInvitationGood(
  { storage, users: directory }: Pick<SetUpOptions, "storage" | "users">,
  { userId, kind, by, epoch }: Invitation["value"],
): Promise<boolean> {
  if ((await directory.find(by))?.isAdministrator !== true) return false;
  const user = await users.read(storage, userId);
  return kind === "new" ? user === null && userId !== ownerId : user?.value.epoch === epoch;
}
