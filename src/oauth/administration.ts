/** What the console shows and changes of people, clients and access. */
import { type Result, success } from "../lib/result.ts";
import type { LogFields } from "../lib/log.ts";
import type { AdministrationOptions, AuthorizationServerOptions } from "./context.ts";
import { approveClient, createClient, listHeldClients, removeClient } from "./manage_clients.ts";
import { usualScopes } from "./scope.ts";
import { invite, listInvitations, withdrawInvitation } from "./set_up.ts";
import { disableUser, enableUser, listUsers, setAdministrator } from "./manage_users.ts";
import type { UserDirectory, UserProblem, UserSummary } from "./manage_users.ts";
import type { Storage } from "../storage/mod.ts";
import { clients } from "./records.ts";
import { endAccess, listAccess } from "./grants.ts";

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
  options: Pick<AuthorizationServerOptions, "storage" | "clock" | "issuer" | "log" | "scopes" | "company"> & {
    readonly users: UserDirectory;
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

/** How far the name of a client can be trusted: as it says itself, as the owner of a domain says, or the operator. */
export type Vouching =
  | { readonly by: "none" }
  | { readonly by: "domain"; readonly domain: string }
  | { readonly by: "operator" };

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
