/** People's decisions about waiting calls. */
import * as z from "zod";
import { withSortedKeys } from "../../lib/json.ts";
import { lazyObject } from "../../lib/lazy_object.ts";
import type { Log, LogFields } from "../../lib/log.ts";
import { inTurns, joinNext, nextTurn } from "../../lib/turns.ts";
import type { NamedGrant } from "../../lib/principal.ts";
import { digestOf, randomId } from "../../lib/secrets.ts";
import type { Doer } from "../../oauth/mod.ts";
import type { Foundation, Storage, StorageKey } from "../../storage/mod.ts";
import { type JudgedCall, maxRuleTextCharacters, type Rule, type RuleStore } from "./rule.ts";

/** How long a call waits for a decision, and how long a decision waits for the call. */
export const heldMs = 900_000;
export const maxHeldCalls = 500;
/** Calls that come to several instances at the same moment may all see a free place. */
const maxListed = 2 * maxHeldCalls;
/** Of the largest calls, some milliseconds of work. */
const listedAtOnce = 25;
const family = "held_call";

const heldShape = lazyObject(() => ({
  id: z.string(),
  person: z.string(),
  clientId: z.string(),
  clientName: z.string(),
  grantId: z.string(),
  tool: z.string(),
  places: z.array(z.string()),
  /** The arguments as JSON, cut; the whole of them is in the id. */
  arguments: z.string(),
  /** What the call would do, in words or as a difference. */
  effect: z.string(),
  /** SHA-256 of the whole effect and of what is there: an approval is for this and nothing else. See {@link notComparable}. */
  effectDigest: z.string(),
  approver: z.enum(["person", "administrator"]),
  /** The rule that holds it; a lasting approval lets on what that rule would ask about. */
  ruleId: z.string().optional(),
  /** The others that would hold it too. */
  otherRuleIds: z.array(z.string()).optional(),
  /** Where a lasting approval holds; everywhere when absent. */
  passPlace: z.string().optional(),
  createdAt: z.number(),
  expiresAt: z.number(),
  state: z.enum(["waiting", "approved", "denied"]),
  decidedBy: z.string().optional(),
  /** What the person says to the agent. */
  word: z.string().optional(),
}));

export type HeldCall = z.output<typeof heldShape>;

/** In place of the digest, where what is there is too large to notice each change of it: the call can be denied only. */
export const notComparable = "";
/** What is said of such a call. */
export const tooLarge = "A directory with so many entries cannot be approved as a whole: " +
  "what is in it has to be named, in several calls.";

/** A held call as it was read, with the version that a change of it has to name. */
export type StoredHeldCall = NonNullable<Awaited<ReturnType<typeof readHeldCall>>>;

/** The identity of a call: who, by which client and grant, which tool, with exactly these arguments. */
export function heldCallId(
  { person, clientId, grantId, tool }: Pick<HeldCall, "person" | "clientId" | "grantId" | "tool">,
  input: unknown,
): string {
  return digestOf(JSON.stringify([person, clientId, grantId, tool, withSortedKeys(input)]));
}

export function heldCallKey(id: string): StorageKey {
  return [family, id];
}

export async function readHeldCall(storage: Storage, id: string) {
  const entry = await storage.get(heldCallKey(id));
  return entry === null ? null : { call: heldShape.parse(entry.value), version: entry.version };
}

const listings = new WeakMap<Storage, () => Promise<readonly HeldCall[]>>();

/** All that wait or were decided lately, the oldest first. Who asks at the same time gets one list: all of them may be 35 MB. */
export async function listHeldCalls(storage: Storage): Promise<readonly HeldCall[]> {
  return await inTurns(listings.getOrInsertComputed(storage, () => joinNext(() => readHeldCalls(storage)))());
}

async function readHeldCalls(storage: Storage): Promise<readonly HeldCall[]> {
  const calls: HeldCall[] = [];
  for (let page, after = {}; page === undefined || page.length === listedAtOnce && calls.length < maxListed;) {
    await nextTurn();
    page = await storage.list([family], { limit: listedAtOnce, ...after });
    for (const { key, value } of page) {
      calls.push(heldShape.parse(value));
      after = { after: key };
    }
  }
  return calls.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}

/** Stores a call unless it was changed since it was read (`version`; `null` for one that is not there yet). */
export async function putHeldCall(storage: Storage, call: HeldCall, version: string | null): Promise<boolean> {
  const key = heldCallKey(call.id);
  return await storage.commit({ checks: [{ key, version }], puts: [{ key, value: call, expiresAt: call.expiresAt }] });
}

/** Takes an approved call out, so that it runs once however many ask. */
export async function takeHeldCall(storage: Storage, { call, version }: StoredHeldCall): Promise<boolean> {
  const key = heldCallKey(call.id);
  return await storage.commit({ checks: [{ key, version }], deletes: [key] });
}

/** Calls of one person, the decided included, and those of one client that wait: none keeps all others from asking. */
const maxOfPerson = 50;
const maxOfClient = 25;

/** For the first calls of clients, where others have taken all places. */
const placesForFirst = 100;

/** Calls that want a place, and what stores those that have one; by storage. */
const newcomers = new WeakMap<Storage, ReturnType<typeof createNewcomers>>();

function createNewcomers(storage: Storage) {
  let wanted: HeldCall[] = [];
  const storeAll = joinNext(async () => {
    const those = wanted;
    wanted = [];
    const held = [...await readHeldCalls(storage)];
    const stored = new Map<HeldCall, Promise<boolean>>();
    for (const call of those) {
      if (!hasPlace(call, held)) continue;
      held.push(call);
      stored.set(call, putHeldCall(storage, call, null));
    }
    await Promise.allSettled(stored.values());
    return stored;
  });
  return (call: HeldCall) => {
    wanted.push(call);
    return storeAll();
  };
}

/** Stores a new call, `false` where it is there already; `null` where it has no place. Those that come at once are counted one by one. */
export async function storeNewCall(storage: Storage, call: HeldCall): Promise<boolean | null> {
  const stored = await newcomers.getOrInsertComputed(storage, () => createNewcomers(storage))(call);
  return await stored.get(call) ?? null;
}

/** Whether a further call may wait. */
export function hasPlace({ person, clientId }: Pick<JudgedCall, "person" | "clientId">, held: readonly HeldCall[]) {
  const own = held.filter((call) => call.person === person);
  if (!own.some((call) => call.clientId === clientId)) return held.length < maxHeldCalls + placesForFirst;
  const waiting = own.filter((call) => call.clientId === clientId && call.state === "waiting").length;
  return held.length < maxHeldCalls && own.length < maxOfPerson && waiting < maxOfClient;
}

/** The audit's line of a held call. */
export function auditHeldCall(log: Log, { id, tool, person, clientId }: HeldCall, fields: LogFields): void {
  log.write("audit", "held_call", { held: id, tool, user: person, client: clientId, ...fields });
}

/** How far an approval goes: this call, this connection for an hour, or from now on. */
export type Extent = "once" | "hour" | "always";

const hourMs = 3_600_000;
const maxWordCharacters = 500;
const maxAttempts = 20;

/** `effectDigest` is of the effect that the person was shown, `word` for the agent. */
type Decision = Readonly<Record<"id" | "effectDigest" | "word", string> & { approves: boolean; extent: Extent }>;

/**
 * What became of a decision; `once`: it was to last, and is for this call alone, since the rule that asked is gone or
 * the list of rules is full; `busy`: the call changed each time.
 */
type Decided = "decided" | "once" | "gone" | "changed" | "not_yours" | "ended" | "too_large" | "busy";

/** What the pages of approvals need: the calls that wait, and deciding about one. */
export type Decisions = ReturnType<typeof createDecisions>;

/**
 * Decides about held calls, in the name of the person at the page. A decision is refused where the call was decided
 * meanwhile, its effect is another than was shown, or the person may not decide; a lasting one adds a rule.
 */
export function createDecisions(
  { storage, clock, log, rules, isLive }: Foundation & {
    readonly rules: RuleStore;
    /** Whether the access with which it was asked has not been ended. */
    isLive(grant: NamedGrant): Promise<boolean>;
  },
) {
  return {
    /** The waiting calls that the person may decide about, and that could run. */
    async waiting(decider: Pick<Doer, "userId" | "isAdministrator">): Promise<readonly HeldCall[]> {
      const all = await listHeldCalls(storage);
      const own = all.filter((call) => call.state === "waiting" && mayDecide(call, decider));
      const grants = new Map<string, Promise<boolean>>();
      const live: boolean[] = [];
      while (live.length < own.length) {
        await nextTurn(); // hundreds may wait, and each open page asks
        const some = own.slice(live.length, live.length + listedAtOnce);
        live.push(
          ...await Promise.all(some.map((call) => grants.getOrInsertComputed(call.grantId, () => isLive(call)))),
        );
      }
      return own.filter((_, at) => live[at]);
    },
    async decide({ id, effectDigest, approves, extent, word }: Decision, decider: Doer): Promise<Decided> {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const found = await readHeldCall(storage, id);
        if (found === null || found.call.state !== "waiting") return "gone";
        if (!mayDecide(found.call, decider)) return "not_yours";
        if (approves && !await isLive(found.call)) return "ended";
        if (found.call.effectDigest !== effectDigest) return "changed";
        if (approves && effectDigest === notComparable) return "too_large";
        const now = clock();
        const call: HeldCall = {
          ...found.call,
          state: approves ? "approved" : "denied",
          decidedBy: decider.userId,
          word: word.slice(0, maxWordCharacters).toWellFormed(),
          expiresAt: now + heldMs,
        };
        if (!await putHeldCall(storage, call, found.version)) continue;
        const isToLast = approves && extent !== "once";
        const lasts = isToLast && await rules.change((all) => withPass(all, call, extent, now), decider);
        auditHeldCall(log, call, {
          outcome: approves ? "approved" : "denied",
          extent: lasts ? extent : approves ? "once" : undefined,
          by: decider.userId,
          address: decider.address,
        });
        return isToLast && !lasts ? "once" : "decided";
      }
      return "busy";
    },
  };
}

/** People decide for themselves, unless the rule wants an administrator; administrators for everyone. */
export function mayDecide(
  { person, approver }: HeldCall,
  { userId, isAdministrator }: Pick<Doer, "userId" | "isAdministrator">,
): boolean {
  return isAdministrator || (approver === "person" && person === userId);
}

/**
 * The rules with one that lets such calls on: for this connection for an hour, or for this client from now on. It is
 * for the rules that asked, in the narrowest of their places: what other rules refuse, or ask about, stays so.
 */
function withPass(
  all: readonly Rule[],
  call: HeldCall,
  extent: Exclude<Extent, "once">,
  now: number,
): readonly Rule[] | null {
  const index = all.findIndex(({ id }) => id === call.ruleId);
  if (index < 0) return null;
  const asking = all.filter(({ id }) => id === call.ruleId || call.otherRuleIds?.includes(id));
  const place = passPlaceOf(asking);
  const pass: Rule = {
    id: randomId(),
    person: call.person,
    clientId: call.clientId,
    clientName: call.clientName.slice(0, maxRuleTextCharacters),
    tool: call.tool,
    ...(place === undefined ? {} : { place }),
    verdict: "allow",
    ...(extent === "hour" ? { grantId: call.grantId, until: now + hourMs } : {}),
  };
  const same = all.filter((rule) =>
    rule.passes !== undefined &&
    (["person", "clientId", "grantId", "tool", "place"] as const).every((name) => rule[name] === pass[name])
  );
  const passes = [...new Set([...same.flatMap((rule) => rule.passes ?? []), ...asking.map(({ id }) => id)])];
  return all.flatMap((rule, at) => {
    const kept = same.includes(rule) ? [] : [rule];
    return at === index ? [{ ...pass, passes }, ...kept] : kept;
  });
}

/** The narrowest of the places of the rules that asked. */
export function passPlaceOf(asking: readonly Rule[]): string | undefined {
  return asking.flatMap((rule) => rule.place ?? []).sort((a, b) => b.length - a.length)[0];
}
