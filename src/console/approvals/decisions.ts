/** What people decide about calls that wait. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { randomId } from "../../lib/random_secret.ts";
import type { Storage } from "../../storage/port.ts";
import { type HeldCall, heldMs, listHeldCalls, putHeldCall, readHeldCall } from "./held_call.ts";
import { maxRuleTextCharacters, type Rule } from "./rule.ts";
import type { RuleStore } from "./rule_store.ts";

/** How far an approval goes: this call, this connection for an hour, or from now on. */
export type Extent = "once" | "hour" | "always";

const hourMs = 3_600_000;
const maxWordCharacters = 500;
const maxAttempts = 20;

/** A person at a page. */
interface Decider {
  readonly userId: string;
  readonly isAdministrator: boolean;
  readonly address: string;
}

interface Decision {
  readonly id: string;
  /** Of the effect that the person was shown. */
  readonly effectDigest: string;
  readonly approves: boolean;
  readonly extent: Extent;
  /** For the agent. */
  readonly word: string;
}

/** What became of a decision; `busy`: the call changed each time. */
type Decided = "decided" | "gone" | "changed" | "not_yours" | "busy";

export interface Decisions {
  /** The calls that wait, as far as the person may decide about them. */
  waiting(decider: Pick<Decider, "userId" | "isAdministrator">): Promise<readonly HeldCall[]>;
  decide(decision: Decision, decider: Decider): Promise<Decided>;
}

export function createDecisions(
  { storage, clock, log, rules }: {
    readonly storage: Storage;
    readonly clock: Clock;
    readonly log: Log;
    readonly rules: RuleStore;
  },
): Decisions {
  return {
    async waiting(decider) {
      const all = await listHeldCalls(storage);
      return all.filter((call) => call.state === "waiting" && mayDecide(call, decider));
    },
    async decide({ id, effectDigest, approves, extent, word }, decider) {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const found = await readHeldCall(storage, id);
        if (found === null || found.call.state !== "waiting") return "gone";
        if (!mayDecide(found.call, decider)) return "not_yours";
        if (found.call.effectDigest !== effectDigest) return "changed";
        const now = clock();
        const call: HeldCall = {
          ...found.call,
          state: approves ? "approved" : "denied",
          decidedBy: decider.userId,
          word: word.slice(0, maxWordCharacters).toWellFormed(),
          expiresAt: now + heldMs,
        };
        if (!await putHeldCall(storage, call, found)) continue;
        const lasts = approves && extent !== "once" &&
          await rules.change((all) => withPass(all, call, extent, now), decider);
        log.write("audit", "held_call", {
          outcome: approves ? "approved" : "denied",
          extent: lasts ? extent : approves ? "once" : undefined,
          held: id,
          tool: call.tool,
          user: call.person,
          client: call.clientId,
          by: decider.userId,
          address: decider.address,
        });
        return "decided";
      }
      return "busy";
    },
  };
}

/** People decide for themselves, unless the rule wants an administrator; administrators for everyone. */
function mayDecide(
  { person, approver }: HeldCall,
  { userId, isAdministrator }: Pick<Decider, "userId" | "isAdministrator">,
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
  const [place] = asking.flatMap((rule) => rule.place ?? []).sort((a, b) => b.length - a.length);
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
  const same = all.filter((rule) => isSamePass(rule, pass));
  const passes = [...new Set([...same.flatMap((rule) => rule.passes ?? []), ...asking.map(({ id }) => id)])];
  return all.flatMap((
    rule,
    at,
  ) => [...at === index ? [{ ...pass, passes }] : [], ...same.includes(rule) ? [] : [rule]]);
}

function isSamePass(rule: Rule, pass: Rule): boolean {
  return rule.passes !== undefined &&
    (["person", "clientId", "grantId", "tool", "place"] as const).every((name) => rule[name] === pass[name]);
}
