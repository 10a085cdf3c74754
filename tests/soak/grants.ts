/** The actor that is a person with an application: signs in, consents, redeems, refreshes, replays, revokes. */
import assert from "node:assert/strict";
import { openSignedIn } from "../fixtures/owner.ts";
import { createPerson, type Person } from "../fixtures/person.ts";
import { type Actor, Cut, persist, type Stage, unlessCut } from "./actor.ts";
import { createFamilies, type Family } from "./families.ts";
import { type Code, type OAuthClient, registerClient } from "./oauth_client.ts";

interface UsedCode {
  readonly code: Code;
  /** What came of it, as far as it is known. */
  readonly family: Family | null;
}

const maxLive = 12;
const maxCodeMilliseconds = 300_000; // of ten minutes

/** A person and an application of their own. */
export async function createGrantsActor(
  name: string,
  stage: Stage,
  graceMilliseconds: number,
): Promise<Actor> {
  const { server, random, count } = stage;
  let person = newPerson(stage);
  const client: OAuthClient = await persist(() => registerClient(server));
  const families = createFamilies(stage, client, graceMilliseconds);
  const unused: Code[] = [];
  const used: UsedCode[] = [];

  /** Each sign-in that a kill cut off counts as a failed one, and after some of them this browser has to wait. */
  const moveAway = (): void => {
    person = newPerson(stage);
    count("person moved away from the delay");
  };
  const consent = async (): Promise<void> => {
    const code = await client.requestCode(person);
    if (code === null) return moveAway();
    unused.push(code);
    count("consent");
  };
  const takeCode = (): Code => unused.splice(random.int(unused.length), 1)[0] as Code;
  const redeem = async (): Promise<void> => {
    const code = takeCode();
    if (Date.now() - code.receivedAt > maxCodeMilliseconds) return;
    const redeemed = await unlessCut(client.redeem(code).then((tokens) => ({ tokens })));
    if (redeemed === null) return await redeemAgain(code);
    assert.ok(redeemed.tokens !== null, "a code that was handed out works once");
    used.push({ code, family: families.begin(redeemed.tokens) });
    count("code redeemed");
  };
  /** The answer was cut off: the code works now, or it was used and this is its replay. */
  const redeemAgain = async (code: Code): Promise<void> => {
    count("code in doubt");
    const tokens = await persist(() => client.redeem(code));
    used.push({ code, family: tokens === null ? null : families.begin(tokens) });
  };
  /** RFC 6749 §4.1.2: two at once are one use and one replay, and the replay ends what the use began. */
  const redeemTwice = async (): Promise<void> => {
    const code = takeCode();
    const asked = [client.redeem(code), client.redeem(code)];
    const answers = await Promise.all(asked.map((each) =>
      each.then((tokens) => tokens ?? "refused", (error) => {
        if (error instanceof Cut) return "cut";
        throw error;
      })
    ));
    const tokens = answers.filter((answer) => typeof answer === "object");
    count("code sent twice at once");
    assert.ok(tokens.length < 2, "a code was used twice");
    const [won] = tokens;
    if (won === undefined) {
      assert.ok(answers.includes("cut"), "a code that was sent twice was refused twice");
      return await redeemAgain(code);
    }
    const family = families.begin(won);
    used.push({ code, family });
    const replay = answers.includes("refused") ? () => Promise.resolve() : () => Promise.reject(new Cut());
    await families.end(family, replay);
  };
  const replayCode = async (): Promise<void> => {
    const { code, family } = random.pick(used);
    const replay = async (): Promise<void> =>
      assert.equal(await client.redeem(code), null, "a redeemed code does not work again");
    if (family !== null && families.live.includes(family)) await families.end(family, replay);
    else await replay();
    count("code replayed");
  };
  const reuse = async (): Promise<void> => {
    const now = Date.now();
    const stale = families.live.filter(({ replaced }) => replaced !== null && now - replaced.at > graceMilliseconds);
    if (stale.length === 0) return await families.refresh(random.pick(families.live));
    await families.reuse(random.pick(stale));
  };
  const revoke = async (): Promise<void> => {
    const family = random.pick(families.live);
    await families.end(family, () => client.revoke(family.refreshToken));
    count("grant revoked");
  };
  const takeBack = async (): Promise<void> => {
    const family = random.pick(families.live);
    const [, id = ""] = family.refreshToken.split("_");
    const page = await openSignedIn(person, `${server.url}/oauth/grants`);
    if (page.status === 429) return moveAway();
    await families.end(family, async () => {
      const after = await person.submit(page, {}, `value="${id}"`);
      assert.ok(after.status === 200 && !after.html.includes(id), "a grant that was taken back is not listed");
    });
    count("grant taken back on the page");
  };
  return {
    name,
    async step() {
      const dice = random.int(100);
      if (families.live.length > maxLive) return await (random.chance(0.5) ? revoke() : takeBack());
      if (dice < 12 || (unused.length === 0 && families.live.length === 0)) return await consent();
      if (dice < 24 && unused.length > 0) return await (random.chance(0.2) ? redeemTwice() : redeem());
      if (dice < 27 && used.length > 0) return await replayCode();
      if (families.live.length > 0) {
        if (dice < 50) return await families.refresh(random.pick(families.live)).then(() => count("refresh"));
        if (dice < 53) return await reuse();
        if (dice < 56) return await revoke();
        if (dice < 58) return await takeBack();
        if (dice < 65) {
          return await families.revokeAccessToken(random.pick(families.live)).then(() => count("access token revoked"));
        }
      }
      await families.probe();
      count("tokens probed");
    },
    rest: () => Promise.resolve(),
    async audit() {
      while (families.live.length < 2) {
        await consent();
        if (unused.length > 0) await redeem();
      }
      await families.probeAll();
      for (const { code } of used) {
        assert.equal(await persist(() => client.redeem(code)), null, "a redeemed code does not work again");
      }
      for (const code of unused) {
        if (Date.now() - code.receivedAt > maxCodeMilliseconds) continue;
        assert.notEqual(await persist(() => client.redeem(code)), null, "a code that was handed out works once");
      }
    },
  };
}

/** Somebody with a new browser, at a new address as the proxy before the server tells it. */
function newPerson({ server, random }: Stage): Person {
  const address = `10.${random.int(256)}.${random.int(256)}.${random.int(256)}`;
  return createPerson(server.url, (url, init) => {
    const headers = new Headers(init.headers);
    headers.set("x-forwarded-for", address);
    return server.fetch(url, { ...init, headers });
  });
}
