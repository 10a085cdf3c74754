/** What has access: living grants and tokens of the command line, and ending one. */
import type { Log } from "../lib/log.ts";
import type { Storage } from "../storage/port.ts";
import { clients } from "./records/client.ts";
import { type Grant, grants, revokeGrant, subjectGrants } from "./records/grant.ts";
import { operatorTokens } from "./records/operator_token.ts";
import type { OperatorTokenSummary } from "./operator_token.ts";
import { isLiveGrant, type UserDirectory } from "./user_directory.ts";

/** Grants, and as many tokens, that are read for one page. */
const maxRead = 1_000;

/** How far the name of a client can be trusted: as it says itself, as the owner of a domain says, or the operator. */
export type Vouching =
  | { readonly by: "none" }
  | { readonly by: "domain"; readonly domain: string }
  | { readonly by: "operator" };

/** A grant as lists show it. */
export interface ListedGrant
  extends
    Pick<Grant, "id" | "subject" | "clientId" | "clientName" | "redirectHost" | "scopes" | "createdAt" | "address"> {
  /** When it was last used to get a token. */
  readonly renewedAt: number;
}

export interface AccessList {
  readonly grants: readonly ListedGrant[];
  readonly tokens: readonly OperatorTokenSummary[];
  /** There are more than are listed. */
  readonly isCut: boolean;
}

/** The text, if it has the form of an id of ours. */
export function idIn(text: string | null): string | null {
  return text !== null && /^[0-9a-f]{32}$/.test(text) ? text : null;
}

/** What is alive of a user, or of everyone (`null`), newest first. */
export async function listAccess(
  { storage, users }: { readonly storage: Storage; readonly users: UserDirectory },
  userId: string | null,
): Promise<AccessList> {
  const found = await grantsOf(storage, userId);
  const subjects = foundOnce(users);
  const isLive = await Promise.all(found.map((grant) => isLiveGrant(subjects, grant)));
  const living = found.filter((_, index) => isLive[index]);
  const tokens = await tokensOf({ storage, users }, userId);
  return {
    grants: living.map((grant) => ({ ...grant, renewedAt: grant.refresh?.lastUsedAt ?? grant.createdAt })).sort((
      a,
      b,
    ) => b.renewedAt - a.renewedAt || (a.id < b.id ? 1 : -1)),
    tokens,
    isCut: found.length >= maxRead,
  };
}

/** Looks each user up once, however many grants they have. */
function foundOnce(users: UserDirectory): Pick<UserDirectory, "find"> {
  const found = new Map<string, ReturnType<UserDirectory["find"]>>();
  return {
    find(id) {
      const account = found.get(id) ?? users.find(id);
      found.set(id, account);
      return account;
    },
  };
}

async function grantsOf(storage: Storage, userId: string | null): Promise<Grant[]> {
  if (userId === null) return (await grants.list(storage, { limit: maxRead })).map(({ value }) => value);
  const index = await subjectGrants.list(storage, { below: [userId], limit: maxRead });
  const stored = await Promise.all(index.map(({ value }) => grants.read(storage, value.grantId)));
  return stored.flatMap((entry) => entry === null ? [] : [entry.value]);
}

/** Who vouches for the names of these clients, by their ids. */
export async function vouchingFor(
  storage: Storage,
  clientIds: readonly string[],
): Promise<ReadonlyMap<string, Vouching>> {
  const ids = [...new Set(clientIds)];
  return new Map(
    await Promise.all(
      ids.map(async (id) => [id, vouchingOf(id, (await clients.read(storage, id))?.value.origin)] as const),
    ),
  );
}

function vouchingOf(clientId: string, origin: string | undefined): Vouching {
  if (origin === "operator") return { by: "operator" };
  const url = origin === "registered" ? null : URL.parse(clientId);
  return url?.protocol === "https:" ? { by: "domain", domain: url.host } : { by: "none" };
}

/** The living tokens that the command line made for a user, or for all, newest first. */
export async function tokensOf(
  { storage, users }: { readonly storage: Storage; readonly users: UserDirectory },
  userId: string | null,
): Promise<OperatorTokenSummary[]> {
  const stored = await operatorTokens.list(storage, { limit: maxRead });
  const own = stored.flatMap(({ value }) => userId === null || value.userId === userId ? [value] : []);
  const areLive = await Promise.all(own.map((token) => users.isLiveToken(token)));
  return own.filter((_, index) => areLive[index]).map(({ tokenHash: _hash, userEpoch: _epoch, ...summary }) => summary)
    .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
}

/** What to end, and who asks; `of` is whose things they may end, `null` for anyone's. */
interface EndRequest {
  readonly grantId: string | null;
  readonly tokenId: string | null;
  readonly of: string | null;
  readonly by: string;
  readonly address: string;
}

/** Ends a grant or a token at once; `false` when there is none that the person may end. */
export async function endAccess(
  { storage, log }: { readonly storage: Storage; readonly log: Log },
  { grantId, tokenId, of, by, address }: EndRequest,
): Promise<boolean> {
  const grant = grantId === null ? null : await grants.read(storage, grantId);
  if (grantId !== null && grant !== null && (of === null || grant.value.subject === of)) {
    await revokeGrant(storage, grantId);
    const { clientId: client, subject: user } = grant.value;
    log.write("audit", "grant_revoked", { ...whoEnded(user, by), grant: grantId, client, address });
    return true;
  }
  const token = tokenId === null ? null : await operatorTokens.read(storage, tokenId);
  if (token === null || (of !== null && token.value.userId !== of)) return false;
  if (await storage.consume(token.key) === null) return false;
  log.write("audit", "operator_token_revoked", { ...whoEnded(token.value.userId, by), token: tokenId, address });
  return true;
}

function whoEnded(user: string, by: string): { reason: string; user: string; by?: string } {
  return user === by ? { reason: "by_user", user } : { reason: "by_administrator", user, by };
}
