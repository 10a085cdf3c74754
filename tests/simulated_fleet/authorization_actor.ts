/** Grants under faults: codes, refresh tokens and revocations, often sent twice at once to different instances. */
import { createPerson } from "../fixtures/person.ts";
import { Actor, LostReply } from "./actors.ts";
import type { Fleet, Reply } from "./fleet.ts";
import { limits, serverUrl } from "./instance.ts";
import type { PreparedState } from "./prepared_state.ts";
import { approveClient, codeParameters, tokenRequest } from "./sign_in.ts";

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** Who may find a token dead though nobody revoked it, and why; `null` while it must be alive. */
type Excuse = string | null;

const codeLifetimeMs = 60_000;

/** One client whose grants come and go, until the fleet ends. */
export function runAuthorizationActor(
  fleet: Fleet,
  number: number,
  { clientId, cookies }: { readonly clientId: string; readonly cookies: PreparedState["cookies"] },
): Promise<void> {
  const actor = new Actor(fleet, `grants ${number}`, number);
  const person = createPerson(serverUrl, actor.browse, new Map(cookies));
  const { random, fleet: { time } } = actor;
  const ask = (parameters: Record<string, string>, path = "/oauth/token"): Promise<Reply | null> =>
    actor.request(path, tokenRequest(parameters));
  const answersOf = (replies: readonly (Reply | null)[]): Tokens[] =>
    replies.flatMap((reply) => reply?.status === 200 ? [JSON.parse(reply.text) as Tokens] : []);
  const isUnknown = (reply: Reply | null): boolean => reply === null || reply.status === 503;

  const redeem = async (code: string, askedAt: number): Promise<{ tokens: Tokens; excuse: Excuse }> => {
    const parameters = codeParameters(clientId, code);
    const copies = random.chance(0.3) ? 2 + random.int(2) : 1;
    const replies = await Promise.all(Array.from({ length: copies }, () => ask(parameters)));
    const answers = answersOf(replies);
    if (answers.length > 1) actor.violate(`one code gave ${answers.length} grants`);
    const [tokens] = answers;
    if (tokens !== undefined) return { tokens, excuse: copies > 1 ? "its code was sent twice" : null };
    const refusal = replies.find((reply) => !isUnknown(reply));
    const isFresh = time.now - askedAt + fleet.clockSpreadMs < codeLifetimeMs && fleet.clocksRightSince(askedAt);
    if (copies === 1 && isFresh && refusal?.status === 400) actor.violate(`a fresh code was refused: ${refusal.text}`);
    throw new LostReply("no tokens");
  };

  const refresh = async (present: Tokens, excuse: Excuse): Promise<{ tokens: Tokens | null; excuse: Excuse }> => {
    const parameters = { grant_type: "refresh_token", client_id: clientId, refresh_token: present.refresh_token };
    const began = time.now;
    let tokens: Tokens | null = null;
    for (let attempt = 0; attempt < 4; attempt++) {
      const copies = random.chance(0.3) ? 2 + random.int(2) : 1;
      const replies = await Promise.all(Array.from({ length: copies }, () => ask(parameters)));
      const answers = answersOf(replies);
      if (tokens !== null) answers.push(tokens);
      if (new Set(answers.map(({ refresh_token }) => refresh_token)).size > 1) {
        actor.violate("one refresh token gave two successors");
      }
      tokens = answers[0] ?? null;
      const spent = time.now - began + fleet.clockSpreadMs;
      if (spent > (limits.refreshGraceSeconds - 1) * 1_000) excuse ??= "retried after its grace";
      if (replies.includes(null)) excuse ??= "one that was given up may arrive after its grace"; // and looks like a thief's
      if (!fleet.clocksRightSince(began)) excuse ??= "clocks were wrong";
      const refusal = replies.find((reply) => !isUnknown(reply) && reply?.status !== 200);
      if (refusal !== undefined) {
        if (excuse === null) actor.violate(`a refresh token was refused: ${refusal?.status} ${refusal?.text}`);
        return { tokens: null, excuse: excuse ?? "refused" };
      }
      if (tokens !== null) return { tokens, excuse };
      await actor.sleep(100 + random.int(2_000));
    }
    return { tokens: null, excuse: excuse ?? "gave up" };
  };

  const requireAlive = async (tokens: Tokens, excuse: Excuse, since: number): Promise<void> => {
    const reply = await actor.echo(tokens.access_token);
    if (reply === null || reply.status === 429) return;
    if (reply.status !== 200 && excuse === null && fleet.clocksRightSince(since)) {
      actor.violate(`an acknowledged token was refused: ${reply.status}`);
    }
  };

  const requireDead = async (tokens: Tokens): Promise<void> => {
    for (const slot of fleet.running) {
      const reply = await actor.echo(tokens.access_token, slot);
      if (reply?.status === 200) actor.violate(`a revoked access token works at instance ${slot.index}`);
    }
    const parameters = { grant_type: "refresh_token", client_id: clientId, refresh_token: tokens.refresh_token };
    if ((await ask(parameters))?.status === 200) actor.violate("a revoked refresh token works");
  };

  const graveyard: Tokens[] = [];
  return actor.live(async () => {
    const since = time.now;
    const code = await approveClient(person, clientId);
    if (code === null) {
      if (fleet.isCalm) actor.violate("the owner could not approve");
      throw new LostReply("no code");
    }
    let { tokens, excuse } = await redeem(code, since);
    if (!fleet.clocksRightSince(since)) excuse ??= "clocks were wrong";
    actor.did("code redeemed");
    for (let step = random.int(6); step > 0 && !fleet.isEnding; step--) {
      await requireAlive(tokens, excuse, since);
      await actor.sleep(random.int(15_000));
      const next = await refresh(tokens, excuse);
      excuse = next.excuse;
      if (next.tokens === null) return;
      tokens = next.tokens;
      actor.did("refreshed");
    }
    await requireAlive(tokens, excuse, since);
    if (random.chance(0.6)) {
      const revokedAt = time.now;
      const revoked = await ask({ token: tokens.refresh_token, client_id: clientId }, "/oauth/revoke");
      // To an instance that is days ahead the grant has expired: there is nothing to revoke, and so it says (RFC 7009 §2.2).
      if (revoked?.status !== 200 || !fleet.clocksRightSince(revokedAt)) return;
      actor.did("revoked");
      await requireDead(tokens);
      graveyard.push(tokens);
    }
    const old = graveyard[random.int(graveyard.length + 1)];
    if (old !== undefined) await requireDead(old);
  });
}
