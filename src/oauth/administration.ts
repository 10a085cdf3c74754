/** People and their connections, as the console shows and changes them. */
import type { Log } from "../lib/log.ts";
import type { Result } from "../lib/result.ts";
import { type AccessList, endAccess, idIn, listAccess, type Vouching, vouchingFor } from "./grants.ts";
import type { AdministrationOptions } from "./context.ts";
import {
  approveClient,
  type ClientProblem,
  type ClientSummary,
  listHeldClients,
  removeClient,
} from "./manage_clients.ts";
import { usualScopes } from "./scope.ts";
import { invite, listInvitations, type PendingInvitation, withdrawInvitation } from "./set_up.ts";
import {
  disableUser,
  enableUser,
  listUsers,
  setAdministrator,
  type UserDirectory,
  type UserProblem,
  type UserSummary,
} from "./manage_users.ts";

/** Who does something, from where. */
interface Doer {
  readonly userId: string;
  readonly isAdministrator: boolean;
  readonly address: string;
}

/** The actions on a user. */
export type UserChange = "disable" | "enable" | "promote" | "demote";

export interface Administration {
  /** The connections of one user, or of everyone (`null`). */
  access(userId: string | null): Promise<AccessList>;
  /** Who vouches for the names of these clients, by their ids. */
  vouchingFor(clientIds: readonly string[]): Promise<ReadonlyMap<string, Vouching>>;
  /** Ends a grant or a token; others' only for administrators. `false` when there is none that the doer may end. */
  end(what: { readonly grant: string | null; readonly token: string | null }, doer: Doer): Promise<boolean>;
  /** Clients that registered for access in their own name and wait for their scopes. */
  heldClients(): Promise<readonly ClientSummary[]>;
  approveClient(
    approval: { readonly id: string; readonly scope: string },
    doer: Doer,
  ): Promise<Result<ClientSummary, ClientProblem>>;
  /** Removes a client that waits; `false` when none does under this id. */
  refuseClient(id: string, doer: Doer): Promise<boolean>;
  /** The scopes that this installation offers. */
  readonly scopes: readonly string[];
  users(): Promise<readonly UserSummary[]>;
  change(name: string, change: UserChange, doer: Doer): Promise<Result<UserSummary, UserProblem>>;
  /** The URL with which a new user, or one whose passphrase is reset, chooses a passphrase. */
  invite(
    invitation: { readonly userId: string; readonly kind: "new" | "reset" },
    doer: Doer,
  ): Promise<Result<string, UserProblem>>;
  /** Links that were not used yet. */
  invitations(): Promise<readonly PendingInvitation[]>;
  /** Voids the link of an invitation; `false` when it is no longer good. */
  withdraw(invitationId: string, doer: Doer): Promise<boolean>;
}

export function createAdministration(
  options: AdministrationOptions & {
    readonly issuer: string;
    readonly users: UserDirectory;
    readonly log: Log;
    readonly scopes?: readonly string[];
  },
): Administration {
  const { issuer, log } = options;
  const changes = {
    disable: disableUser,
    enable: enableUser,
    promote: (given: AdministrationOptions, name: string) => setAdministrator(given, { name, administrator: true }),
    demote: (given: AdministrationOptions, name: string) => setAdministrator(given, { name, administrator: false }),
  };
  return {
    access: (userId) => listAccess(options, userId),
    vouchingFor: (clientIds) => vouchingFor(options.storage, clientIds),
    end: ({ grant, token }, { userId, isAdministrator, address }) =>
      endAccess(options, {
        grantId: idIn(grant),
        tokenId: idIn(token),
        of: isAdministrator ? null : userId,
        by: userId,
        address,
      }),
    heldClients: () => listHeldClients(options),
    async approveClient(approval, { userId, address }) {
      const approved = await approveClient(options, approval);
      const [client, outcome] = approved.ok ? [approved.value.id, "approved"] : [undefined, "refused"];
      const scopes = approved.ok ? approved.value.scopes : undefined;
      log.write("audit", "client_approved", { outcome, client, scopes, by: userId, address });
      return approved;
    },
    async refuseClient(id, { userId, address }) {
      const waiting = (await listHeldClients(options)).some((client) => client.id === id);
      if (!waiting || !await removeClient(options, id)) return false;
      log.write("audit", "client_removed", { reason: "not_approved", client: id, by: userId, address });
      return true;
    },
    scopes: options.scopes ?? usualScopes,
    users: () => listUsers(options),
    async change(name, change, { userId, address }) {
      const changed = await changes[change](options, name);
      const outcome = changed.ok ? change : "refused";
      log.write("audit", "user_changed", { outcome, user: name.slice(0, 32), by: userId, address });
      return changed;
    },
    async invite(invitation, { userId, address }) {
      const code = await invite(options, { ...invitation, by: userId });
      const outcome = code.ok ? invitation.kind : "refused";
      log.write("audit", "invitation_made", { outcome, user: invitation.userId.slice(0, 32), by: userId, address });
      return code.ok ? { ok: true, value: `${issuer}/invitation?code=${code.value}` } : code;
    },
    invitations: () => listInvitations(options),
    async withdraw(id, { userId, address }) {
      const isWithdrawn = await withdrawInvitation(options, id);
      const outcome = isWithdrawn ? "withdrawn" : "not_found";
      log.write("audit", "invitation_withdrawn", { outcome, by: userId, address });
      return isWithdrawn;
    },
  };
}
