/** People's decisions about waiting calls. */
import type { NamedGrant } from "../../lib/principal.ts";
import { randomId } from "../../lib/secrets.ts";
import { nextTurn } from "../../lib/turns.ts";
import type { Doer } from "../../oauth/mod.ts";
import type { Foundation } from "../../storage/mod.ts";
import * as gate from "./gate.ts";
import type { HeldCall } from "./gate.ts";
import { maxRuleTextCharacters, type Rule, type RuleStore } from "./rule.ts";

/** How far an approval goes: this call, this connection for an hour, or from now on. */
export type Extent = "once" | "hour" | "always";

const hourMs = 3_600_000;
const maxWordCharacters = 500;
const maxAttempts = 20;
/** Grants that are looked at together: hundreds of calls may wait. */
const grantsAtOnce = 25;

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
      const all = await gate.listHeldCalls(storage);
      const own = all.filter((call) => call.state === "waiting" && gate.mayDecide(call, decider));
      const grants = new Map<string, Promise<boolean>>();
      const live: boolean[] = [];
      while (live.length < own.length) {
        await nextTurn(); // each open page asks
        const some = own.slice(live.length, live.length + grantsAtOnce);
        live.push(
          ...await Promise.all(some.map((call) => grants.getOrInsertComputed(call.grantId, () => isLive(call)))),
        );
      }
      return own.filter((_, at) => live[at]);
    },
    async decide({ id, effectDigest, approves, extent, word }: Decision, decider: Doer): Promise<Decided> {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const found = await gate.readHeldCall(storage, id);
        if (found === null || found.call.state !== "waiting") return "gone";
        if (!gate.mayDecide(found.call, decider)) return "not_yours";
        if (approves && !await isLive(found.call)) return "ended";
        if (found.call.effectDigest !== effectDigest) return "changed";
        if (approves && effectDigest === gate.notComparable) return "too_large";
        const now = clock();
        const call: HeldCall = {
          ...found.call,
          state: approves ? "approved" : "denied",
          decidedBy: decider.userId,
          word: word.slice(0, maxWordCharacters).toWellFormed(),
          expiresAt: now + gate.heldMs,
        };
        if (!await gate.putHeldCall(storage, call, found.version)) continue;
        const isToLast = approves && extent !== "once";
        const lasts = isToLast && await rules.change((all) => withPass(all, call, extent, now), decider);
        gate.auditHeldCall(log, call, {
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
  const place = gate.passPlaceOf(asking);
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
