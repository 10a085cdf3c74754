/** The ledger of what one application was granted, and the questions that tell whether the server keeps to it. */
import assert from "node:assert/strict";
import { Cut, persist, type Stage } from "./actor.ts";
import { pause } from "../../src/lib/time.ts";
import { isAccepted } from "./mcp.ts";
import type { OAuthClient, Tokens } from "./oauth_client.ts";

/** A grant that lives, as its application knows it. */
export interface Family {
  refreshToken: string;
  /** The token before it, and when the answer with its successor came. */
  replaced: { readonly token: string; readonly at: number } | null;
  readonly accessTokens: Set<string>;
}

/** All grants of one application. */
export interface Families {
  readonly live: Family[];
  begin(tokens: Tokens): Family;
  /** Rotates the refresh token, over kills. */
  refresh(family: Family): Promise<void>;
  /** Asks for the end of a grant; what a kill leaves in doubt is settled. `ask` has to be refused or acknowledged. */
  end(family: Family, ask: () => Promise<void>): Promise<void>;
  /** Presents the replaced refresh token of a grant after its grace: that ends the grant (RFC 9700 §4.14.2). */
  reuse(family: Family): Promise<void>;
  revokeAccessToken(family: Family): Promise<void>;
  /** One token that has to work and one that must not. */
  probe(): Promise<void>;
  probeAll(): Promise<void>;
}

/** Opens the ledger. `graceMilliseconds`: how long a replaced refresh token still gives its successor. */
export function createFamilies(
  { server, random, count }: Stage,
  client: OAuthClient,
  graceMilliseconds: number,
): Families {
  const live: Family[] = [];
  const endedAccess: string[] = [];
  const endedRefresh: string[] = [];

  const accepted = (token: string): Promise<boolean> => persist(() => isAccepted(server, token));
  const requireAccepted = async (token: string): Promise<void> =>
    assert.ok(await accepted(token), "an acknowledged grant is still there");
  const requireRefused = async (token: string): Promise<void> =>
    assert.ok(!await accepted(token), "a revoked token is not accepted");

  const forget = (family: Family): void => {
    live.splice(live.indexOf(family), 1);
    endedAccess.push(...family.accessTokens);
    endedRefresh.push(family.refreshToken);
  };
  const requireEnded = async (family: Family): Promise<void> => {
    forget(family);
    for (const token of family.accessTokens) await requireRefused(token);
    assert.equal(await persist(() => client.refresh(family.refreshToken)), null, "an ended grant is not refreshed");
  };
  const take = (family: Family, { refresh_token: refreshToken, access_token: accessToken }: Tokens): void => {
    if (refreshToken !== family.refreshToken) family.replaced = { token: family.refreshToken, at: Date.now() };
    family.refreshToken = refreshToken;
    family.accessTokens.add(accessToken);
  };
  /** Whole, or ended as a whole. */
  const settle = async (family: Family): Promise<void> => {
    count("end of a grant in doubt");
    const states = new Set<boolean>();
    for (const token of family.accessTokens) states.add(await accepted(token));
    assert.ok(states.size <= 1, "a grant whose revocation was cut off has ended in part");
    if (states.has(false)) return await requireEnded(family);
    if (states.has(true)) return await refresh(family);
    const tokens = await persist(() => client.refresh(family.refreshToken));
    if (tokens === null) forget(family);
    else take(family, tokens);
  };
  const refresh = async (family: Family): Promise<void> => {
    const sentAt = Date.now();
    for (let wasCut = false;;) {
      try {
        const tokens = await client.refresh(family.refreshToken);
        if (tokens !== null) return take(family, tokens);
        // Rotated by the request that was cut off, and asked again too late: to the server a reuse like any other.
        assert.ok(wasCut && Date.now() - sentAt >= graceMilliseconds, "a live refresh token was refused");
        count("refresh lost to a slow restart");
        return await requireEnded(family);
      } catch (error) {
        if (!(error instanceof Cut)) throw error;
        if (!wasCut) count("refresh in doubt");
        wasCut = true;
      }
    }
  };

  const end = async (family: Family, ask: () => Promise<void>): Promise<void> => {
    try {
      await ask();
    } catch (error) {
      if (!(error instanceof Cut)) throw error;
      return await settle(family);
    }
    await requireEnded(family);
  };
  const reuse = async (family: Family): Promise<void> => {
    await end(family, async () => {
      const refused = await client.refresh(family.replaced?.token ?? "");
      assert.equal(refused, null, "a refresh token that was replaced long ago is refused");
    });
    count("refresh token reused");
  };

  return {
    live,
    begin(tokens) {
      const family = { refreshToken: tokens.refresh_token, replaced: null, accessTokens: new Set<string>() };
      live.push(family);
      take(family, tokens);
      return family;
    },
    refresh,
    end,
    reuse,
    async revokeAccessToken(family) {
      const [token] = family.accessTokens;
      if (token === undefined) return;
      family.accessTokens.delete(token);
      try {
        await client.revoke(token);
      } catch (error) {
        if (!(error instanceof Cut)) throw error;
        count("revocation in doubt");
        if (await accepted(token)) return void family.accessTokens.add(token);
      }
      endedAccess.push(token);
      await requireRefused(token);
    },
    async probe() {
      const family = live.length === 0 ? undefined : random.pick(live);
      const [token] = family?.accessTokens ?? [];
      if (token !== undefined) await requireAccepted(token);
      if (endedAccess.length > 0) await requireRefused(random.pick(endedAccess));
      if (endedRefresh.length > 0) {
        const refused = await client.refresh(random.pick(endedRefresh));
        assert.equal(refused, null, "no refresh token is alive after its grant ended");
      }
    },
    async probeAll() {
      for (const token of endedAccess) await requireRefused(token);
      for (const family of live) {
        for (const token of family.accessTokens) await requireAccepted(token);
      }
      for (const token of endedRefresh) {
        assert.equal(
          await persist(() => client.refresh(token)),
          null,
          "no refresh token is alive after its grant ended",
        );
      }
      for (const family of [...live]) await refresh(family);
      if (live.length > 0) await pause(graceMilliseconds + 1);
      for (const family of [...live]) await reuse(family);
    },
  };
}
