/** The actor at the command line, beside the running server: makes and revokes tokens. */
import assert from "node:assert/strict";
import { runCommand } from "../fixtures/running_server.ts";
import { type Actor, persist, type Stage } from "./actor.ts";
import { isAccepted } from "./mcp.ts";
import type { SoakedServer } from "./soaked_server.ts";

/** A token of the command line. */
export interface OperatorToken {
  readonly id: string;
  readonly token: string;
}

/** Makes a token by `token create`. */
export async function createToken({ place, env }: SoakedServer, scope: string): Promise<OperatorToken> {
  const words = ["token", "create", "--scope", scope, "--ttl", "86400", "--data-dir", place.dataDir];
  const { code, stdout, stderr } = await runCommand(words, { env: { ...env } });
  assert.equal(code, 0, stderr);
  const id = /^token (\S+), until/m.exec(stderr)?.[1];
  assert.ok(id !== undefined, stderr);
  return { id, token: stdout.trim() };
}

/** Its commands are not killed, the server beside them is. */
export function createOperatorActor(name: string, { server, random, count }: Stage): Actor {
  const live: OperatorToken[] = [];
  const revoked: OperatorToken[] = [];

  const create = async (): Promise<void> => {
    live.push(await createToken(server, "files:read"));
    count("token created");
  };
  const revoke = async (): Promise<void> => {
    const [doomed] = live.splice(random.int(live.length), 1);
    if (doomed === undefined) return;
    const words = ["token", "revoke", doomed.id, "--data-dir", server.place.dataDir];
    const { code, stderr } = await runCommand(words, { env: { ...server.env } });
    assert.equal(code, 0, stderr);
    revoked.push(doomed);
    count("token revoked");
  };
  const probe = async (): Promise<void> => {
    if (live.length > 0) assert.ok(await isAccepted(server, random.pick(live).token), "a token still works");
    if (revoked.length > 0) assert.ok(!await isAccepted(server, random.pick(revoked).token), "a revoked one does not");
    count("operator tokens probed");
  };
  return {
    name,
    async step() {
      const dice = random.int(100);
      if (dice < 3 || live.length === 0) await create();
      else if (dice < 5) await revoke();
      await probe();
    },
    rest: () => Promise.resolve(),
    async audit() {
      for (const { token } of live) assert.ok(await persist(() => isAccepted(server, token)));
      for (const { token } of revoked) assert.ok(!await persist(() => isAccepted(server, token)));
    },
  };
}
