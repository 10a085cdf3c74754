/** For the console: who its visitor is, their forms and passphrase, and changes to people, clients and access. */
import type { Peer } from "../lib/endpoint.ts";
import { failure, type Result, success } from "../lib/result.ts";
import { accountPageIn, companyPath, errorPage, showSignIn } from "./interaction.ts";
import type { AccountPage, ConsolePage } from "./interaction.ts";
import { type SignInOptions, tooManyAttempts, verifyPassphrase } from "./sign_in.ts";
import { goToInstancePage } from "./servicenow_sign_in.ts";
import { csrfToken, readOwnForm } from "./browser_sessions.ts";
import type { Log, LogFields } from "../lib/log.ts";
import { equalInConstantTime } from "../lib/secrets.ts";
import { endAccess, listAccess, type Vouching } from "./grants.ts";
import type { AdministrationOptions } from "./context.ts";
import { approveClient, createClient, listHeldClients, removeClient } from "./manage_clients.ts";
import { usualScopes } from "./exchange.ts";
import { invite, listInvitations, withdrawInvitation } from "./set_up.ts";
import { disableUser, enableUser, listUsers, setAdministrator } from "./manage_users.ts";
import type { UserDirectory, UserProblem, UserSummary } from "./manage_users.ts";
import type { Storage } from "../storage/mod.ts";
import { clients } from "./records.ts";

/** A signed-in person, on a page. */
export interface Visitor {
  readonly userId: string;
  /** The name to show. */
  readonly name: string;
  readonly isAdministrator: boolean;
  /** The most that they may allow, with what it implies; `null` for anything. */
  readonly mayGrant: ReadonlySet<string> | null;
  /** When their session began. */
  readonly signedInAt: number;
  /** When they last proved who they are, in milliseconds since the epoch; 0 where single sign-on alone let them in. */
  readonly confirmedAt: number;
  /** They signed in at the company's provider, and confirm there what asks for it. */
  readonly byCompany: boolean;
  /** The value of each form's `csrf` field. */
  readonly csrf: string;
  /** Sees what others do, and there are others. */
  readonly seesOthers: boolean;
}

/** Sign-in to the console: who a request's visitor is, and whether they may still be there. */
export type Visits = ReturnType<typeof createVisits>;

/** How long a sign-in may take that carries an act. */
const carriedMs = 600_000;

/** Makes {@link Visits}. */
export function createVisits(options: SignInOptions) {
  const { browsers, secrets, log, users } = options;
  /** The page that asks someone to sign in, and then leads to `next`. */
  const askSignIn = async (request: Request, next: AccountPage): Promise<Response> => {
    const browser = browsers.identify(request);
    const asked = await showSignIn(options, { kind: "account", browser, next }, { cookies: browser.cookies });
    const away = request.method === "POST" ? asked.headers.get("location") : null; // no redirect may answer a form
    return away === null ? asked : goToInstancePage(away);
  };
  /** The person, or the page that asks them to sign in and then leads to `page`. */
  const enter = async (request: Request, page: ConsolePage): Promise<Result<Visitor, Response>> => {
    const browser = browsers.identify(request);
    const signedIn = await browsers.signedIn(request);
    if (signedIn === null) {
      const linked = request.method === "GET" ? accountPageIn(`${page}${new URL(request.url).search}`) : null;
      return failure(await askSignIn(request, linked ?? page));
    }
    const { account, signedInAt, confirmedAt, byCompany } = signedIn;
    return success({
      userId: account.id,
      name: account.displayName,
      isAdministrator: account.isAdministrator,
      mayGrant: account.mayGrant,
      signedInAt,
      confirmedAt,
      byCompany,
      csrf: csrfToken(secrets, browser),
      seesOthers: account.isAdministrator && await users.hasNamedUsers(),
    });
  };
  const proofOf = (hash: string, page: ConsolePage, act: string, until: string): string =>
    secrets.authenticate("carried-act", [hash, page, act, until].join(" "));
  /** Where the act of a form of this browser is done after a sign-in: see `carriedAct`. */
  const carry = (request: Request, page: ConsolePage, act: string): ConsolePage => {
    const until = String(options.clock() + carriedMs);
    const proof = proofOf(browsers.identify(request).hash, page, act, until);
    return `${page}?${new URLSearchParams({ act, until, proof })}`;
  };
  return {
    enter,
    askSignIn,
    carry,
    /** The act that a visit carries through the sign-in, asked for by a form of this very browser; `null` otherwise. */
    carriedAct(request: Request, page: ConsolePage): string | null {
      const query = new URL(request.url).searchParams;
      const [act = "", until = "", proof = ""] = ["act", "until", "proof"].map((name) => query.get(name) ?? "");
      const isAsked = browsers.identify(request).hashes
        .some((hash) => equalInConstantTime(proof, proofOf(hash, page, act, until)));
      return isAsked && options.clock() < Number(until) ? act : null;
    },
    /** The form of a signed-in person; others sign in, and then post it again, unless its act `isCarried`. */
    async readForm(
      request: Request,
      page: ConsolePage,
      isCarried: (act: string) => boolean,
    ): Promise<Result<{ readonly visitor: Visitor; readonly form: URLSearchParams }, Response>> {
      const form = await readOwnForm(options, request, browsers.identify(request));
      if (!form.ok) return failure(errorPage(options.issuer, form.error));
      const act = form.value.get("act") ?? "";
      const entered = await enter(request, isCarried(act) ? carry(request, page, act) : page);
      return entered.ok ? success({ visitor: entered.value, form: form.value }) : entered;
    },
    /** While a page is open, its session goes on; the cookie for it, `null` where it has ended. */
    renew: (request: Request) => browsers.renew(request),
    /** Judges the passphrase once more: the cookie of the renewed session, or what to tell the person. */
    async confirm(
      request: Request,
      { userId }: Visitor,
      passphrase: string,
      { address }: Peer,
    ): Promise<Result<{ readonly cookie: string }, { readonly words: string; readonly status: 403 | 429 }>> {
      const browser = browsers.identify(request);
      const outcome = await verifyPassphrase(options, { browser, userName: userId, passphrase, address });
      const fields = { user: outcome.user, address };
      if (outcome.ok) {
        log.write("audit", "confirmation", { outcome: "confirmed", ...fields });
        return success({ cookie: await browsers.signIn(request, outcome.account) });
      }
      log.write("audit", "confirmation", { outcome: "refused", reason: outcome.reason, ...fields });
      return failure(
        outcome.retryAfterSeconds === null
          ? { words: "The passphrase is wrong. Try again.", status: 403 }
          : { words: tooManyAttempts(outcome.retryAfterSeconds), status: 429 },
      );
    },
    /** Where someone signs in at the company's provider once more, and then comes back to the page. */
    confirmPath: (page: ConsolePage): string => companyPath(options.issuer, { next: page, again: "1" }),
    /** Whether people sign in at another system, where no passphrase can be asked for. */
    signInIsElsewhere: options.signInElsewhere !== undefined,
  };
}

/** Who does something, from where. */
export interface Doer {
  readonly userId: string;
  readonly isAdministrator: boolean;
  readonly address: string;
}

/** The actions on a user. */
export type UserChange = "disable" | "enable" | "promote" | "demote";

/** What the console shows and changes of people and their connections. */
export type Administration = ReturnType<typeof createAdministration>;

/** People and their connections, as the console shows and changes them. */
export function createAdministration(
  options: AdministrationOptions & {
    readonly issuer: string;
    readonly users: UserDirectory;
    readonly log: Log;
    readonly scopes?: readonly string[];
    readonly company?: { readonly assertions: boolean };
  },
) {
  const { issuer, log, scopes = usualScopes } = options;
  const note = (event: string, { userId: by, address }: Doer, fields: LogFields): void =>
    log.write("audit", event, { ...fields, by, address });
  const makeClient = async (
    given: Omit<Parameters<typeof createClient>[1], "scope">,
    doer: Doer,
    fields: { readonly assertions?: true } = {},
  ) => {
    const created = await createClient(options, { ...given, scope: scopes.join(" ") });
    const outcome = created.ok ? { outcome: "created", client: created.value.client.id } : { outcome: "refused" };
    note("client_created", doer, { ...outcome, ...fields });
    return created;
  };
  const approve = async (approval: Parameters<typeof approveClient>[1], doer: Doer) => {
    const approved = await approveClient(options, approval);
    const outcome = approved.ok
      ? { outcome: "approved", client: approved.value.id, scopes: approved.value.scopes }
      : { outcome: "refused" };
    note("client_approved", doer, { ...outcome, assertions: approval.assertions });
    return approved;
  };
  const changes = {
    disable: disableUser,
    enable: enableUser,
    promote: (given: AdministrationOptions, name: string) => setAdministrator(given, { name, administrator: true }),
    demote: (given: AdministrationOptions, name: string) => setAdministrator(given, { name, administrator: false }),
  };
  return {
    /** The connections of one user, or of everyone (`null`). */
    access: (userId: string | null) => listAccess(options, userId),
    /** Who vouches for the names of these clients, by their ids. */
    vouchingFor: (clientIds: readonly string[]) => vouchingFor(options.storage, clientIds),
    /** Ends a grant or a token; others' only for administrators. `false` when there is none that the doer may end. */
    end: (
      named: Pick<Parameters<typeof endAccess>[1], "grantId" | "tokenId">,
      { userId, isAdministrator, address }: Doer,
    ) => endAccess(options, { ...named, of: isAdministrator ? null : userId, by: userId, address }),
    /** Clients that registered for access in their own name and wait for their scopes. */
    heldClients: () => listHeldClients(options),
    approveClient: approve,
    /** Makes a client without a secret, for an application that signs people in and is sent back to this address. */
    addApplication: (name: string, redirectUri: string, doer: Doer) =>
      makeClient(
        { name, redirectUris: [redirectUri], grantTypes: ["authorization_code"], authentication: "none" },
        doer,
      ),
    /**
     * Makes a client that brings identity assertions of the company's provider, or lets the one bring them that has this
     * id; `null` where they are off.
     */
    addAssertingClient: options.company?.assertions !== true ? null : async (name: string, doer: Doer) => {
      if (!name.startsWith("pcc_")) {
        return await makeClient({ name, grantTypes: [], assertions: true }, doer, { assertions: true });
      }
      const named = await approve({ id: name, scope: scopes.join(" "), assertions: true }, doer);
      return named.ok ? success({ client: named.value, secret: null }) : named;
    },
    /** Removes a client that waits; `false` when none does under this id. */
    async refuseClient(id: string, doer: Doer): Promise<boolean> {
      const waiting = (await listHeldClients(options)).some((client) => client.id === id);
      if (!waiting || !await removeClient(options, id)) return false;
      note("client_removed", doer, { reason: "not_approved", client: id });
      return true;
    },
    /** The scopes that this installation offers. */
    scopes,
    /** The users, and what the company's provider makes of them. */
    async users() {
      const listed = await listUsers(options);
      return listed.map((user) => ({ ...user, ...options.users.companyOf(user) }));
    },
    async change(name: string, change: UserChange, doer: Doer): Promise<Result<UserSummary, UserProblem>> {
      const changed = await changes[change](options, name);
      note("user_changed", doer, { outcome: changed.ok ? change : "refused", user: name.slice(0, 64) });
      return changed;
    },
    /** The URL with which a new user, or one whose passphrase is reset, chooses a passphrase. */
    async invite(
      invitation: { readonly userId: string; readonly kind: "new" | "reset" },
      doer: Doer,
    ): Promise<Result<string, UserProblem>> {
      const code = await invite(options, { ...invitation, by: doer.userId });
      const outcome = code.ok ? invitation.kind : "refused";
      note("invitation_made", doer, { outcome, user: invitation.userId.slice(0, 64) });
      return code.ok ? success(`${issuer}/invitation?code=${code.value}`) : code;
    },
    /** Links that were not used yet. */
    invitations: () => listInvitations(options),
    /** Voids the link of an invitation; `false` when it is no longer good. */
    async withdraw(id: string, doer: Doer): Promise<boolean> {
      const isWithdrawn = await withdrawInvitation(options, id);
      note("invitation_withdrawn", doer, { outcome: isWithdrawn ? "withdrawn" : "not_found" });
      return isWithdrawn;
    },
  };
}

/** Who vouches for the names of these clients, by their ids. */
async function vouchingFor(storage: Storage, clientIds: readonly string[]): Promise<ReadonlyMap<string, Vouching>> {
  const vouchingOf = async (id: string): Promise<Vouching> => {
    const origin = (await clients.read(storage, id))?.value.origin;
    if (origin === "operator") return { by: "operator" };
    const url = origin === "registered" ? null : URL.parse(id);
    return url?.protocol === "https:" ? { by: "domain", domain: url.host } : { by: "none" };
  };
  return new Map(await Promise.all([...new Set(clientIds)].map(async (id) => [id, await vouchingOf(id)] as const)));
}
