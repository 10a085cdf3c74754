/**
 * Legacy sessions. What a session is lies sealed in its id, bound to the principal: it survives restarts and moves
 * between instances. Only what changes is stored: that it ended, its log level, its subscriptions.
 */
import * as z from "zod";
import { parseStored } from "../lib/system_fault.ts";
import { boundedMap } from "../lib/bounded_map.ts";
import { watchEntries } from "../lib/stored_entries.ts";
import type { Principal } from "../lib/principal.ts";
import { randomText } from "../lib/secrets.ts";
import type { ClientAbility, ClientCapabilities } from "./question.ts";
import type { Services } from "./limits.ts";
import { type LoggingLevel, logLevels } from "./jsonrpc.ts";
import type { StorageKey } from "../storage/mod.ts";
import { legacyRevisions, type Revision, type SessionState } from "./revision.ts";

export interface Session extends SessionState {
  /** Short and unique; the id that the client holds is this, sealed. */
  readonly key: string;
  readonly revision: Revision;
  readonly subscriptions: readonly string[];
  readonly expiresAt: number;
}

const purpose = "mcp-session";
/** Addresses of all that a session watches, together: they lie in one stored value. */
const maxSubscriptionCharacters = 200_000;
/** Key, version, abilities, subject, client and expiry. Without names, since clients send the id with every request. */
const sealedShape = z.lazy(() => z.tuple([z.string(), z.string(), z.string(), z.string(), z.string(), z.number()]));
const recordShape = z.lazy(() =>
  z.object({ ended: z.boolean(), logLevel: z.enum(logLevels).nullable(), subscriptions: z.array(z.string()) })
);

const unchanged: z.infer<typeof recordShape> = { ended: false, logLevel: null, subscriptions: [] };

interface OpenSession extends Session {
  readonly subject: string;
  readonly clientId: string;
  readonly ended: boolean;
  /** The storage's change count when this was last true. */
  checkedAt: number;
}

function keyOf({ key }: Session): StorageKey {
  return ["mcp_session", key];
}

export function createSessions({ secretBox, storage, clock, timers, log, limits }: Services) {
  const cache = boundedMap<string, OpenSession>(limits.maxCachedSessions);
  const capabilitySets = new Map<string, ClientCapabilities>();

  /** Opens an id. Ten thousand sessions of one principal share its strings, and the sets of what they declare. */
  const unseal = async (id: string, { subject, clientId }: Principal): Promise<OpenSession | null> => {
    const text = await secretBox.open(purpose, id, "");
    if (text === null) return null;
    const [key, version, abilities, ownSubject, ownClientId, expiresAt] = sealedShape.parse(JSON.parse(text));
    const revision = legacyRevisions.get(version);
    if (revision === undefined || ownSubject !== subject || ownClientId !== clientId) return null;
    const capabilities = shared(abilities);
    return { key, subject, clientId, expiresAt, revision, capabilities, ...unchanged, checkedAt: -1 };
  };
  const openFirst = async (id: string, principal: Principal): Promise<OpenSession | null> => {
    const opened = await unseal(id, principal);
    const known = cache.get(id); // by another request meanwhile
    if (known !== undefined) return known;
    if (opened !== null) cache.set(id, opened);
    return opened;
  };
  const shared = (abilities: string): ClientCapabilities =>
    capabilitySets.getOrInsertComputed(
      abilities,
      () => new Set(abilities.split(" ").filter((ability) => ability !== "") as ClientAbility[]),
    );
  const take = (session: OpenSession, record: z.infer<typeof recordShape>): void => {
    // the answer of a commit may come after that of a later one, so it is not checked
    Object.assign(session, record, { checkedAt: -1 });
  };
  const refresh = async (session: OpenSession, count: number): Promise<Session | null> => {
    const stored = await storage.get(keyOf(session));
    // By a clock that has jumped meanwhile, its end may be stored and have expired, as it then has itself.
    if (session.expiresAt <= clock()) return null;
    if (stored !== null) take(session, parseStored(recordShape, stored.value, "mcp_session"));
    session.checkedAt = count;
    return session.ended ? null : session;
  };
  /**
   * Other instances, or other requests of the client, may change the session at the same moment: each change is made to
   * what is stored, and is tried until it is: a client may send a hundred at once, more than `changeEntry` tries.
   */
  const change = async (
    session: Session,
    apply: (stored: z.infer<typeof recordShape>) => z.infer<typeof recordShape>,
  ): Promise<void> => {
    const opened = session as OpenSession;
    const key = keyOf(session);
    for (;;) {
      const stored = await storage.get(key);
      const before = stored === null ? unchanged : parseStored(recordShape, stored.value, "mcp_session");
      const value = apply(before);
      if (value === before) return take(opened, value);
      const checks = [{ key, version: stored?.version ?? null }];
      if (!await storage.commit({ checks, puts: [{ key, value, expiresAt: opened.expiresAt }] })) continue;
      return take(opened, value);
    }
  };

  return {
    /** Begins a session and gives the id for the client. */
    begin({ subject, clientId }: Principal, { version }: Revision, capabilities: ClientCapabilities) {
      const sealed: z.infer<typeof sealedShape> = [
        randomText(12),
        version,
        [...capabilities].sort().join(" "),
        subject,
        clientId,
        clock() + limits.sessionLifetimeMs,
      ];
      return secretBox.seal(purpose, JSON.stringify(sealed), "");
    },
    /** The session with this id, if it is this principal's and has not ended. */
    async find(id: string, principal: Principal): Promise<Session | null> {
      const session = cache.get(id) ?? await openFirst(id, principal);
      if (session === null) return null;
      if (session.subject !== principal.subject || session.clientId !== principal.clientId) return null;
      if (session.expiresAt <= clock()) return null;
      const count = await storage.changeCount();
      if (session.checkedAt !== count) return await refresh(session, count);
      return session.ended ? null : session;
    },
    end: (session: Session) => change(session, (stored) => ({ ...stored, ended: true })),
    /** Reports changes to the session, by any instance; `null` is its end. */
    watch(session: Session, onChange: (session: Session | null) => void) {
      const opened = session as OpenSession;
      const look = async (): Promise<void> => onChange(await refresh(opened, opened.checkedAt));
      return watchEntries(storage, [keyOf(session)], look, { log, timers }).stop;
    },
    setLogLevel: (session: Session, logLevel: LoggingLevel) => change(session, (stored) => ({ ...stored, logLevel })),
    /**
     * `false`, and no change, when the session has too many. `isSame` says which other addresses mean the same resource:
     * the last spelling is kept.
     */
    async setSubscription(session: Session, uri: string, wanted: boolean, isSame: (uri: string) => boolean) {
      let fits = true;
      await change(session, (stored) => {
        const others = stored.subscriptions.filter((each) => !isSame(each));
        if (!wanted) return { ...stored, subscriptions: others };
        const subscriptions = [...others, uri];
        fits = subscriptions.length <= limits.maxSubscriptions &&
          JSON.stringify(subscriptions).length <= maxSubscriptionCharacters;
        return fits ? { ...stored, subscriptions } : stored;
      });
      return fits;
    },
  };
}
