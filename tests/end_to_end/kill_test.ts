/** Kill -9 of the real server while codes are redeemed and files written, then the audit after the next start. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { freePort } from "../fixtures/free_port.ts";
import { approve, setUpOwner } from "../fixtures/owner.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { workspaceText } from "../fixtures/workspace_text.ts";

const redirectUri = "http://127.0.0.1:53123/callback";
const rounds = 4;
const fileSize = 200_000;

interface PreparedCode {
  readonly code: string;
  readonly verifier: string;
}

Deno.test("kill -9 during token exchange and writes: no code works twice, no file is half-written, nothing is left over", async () => {
  await using place = await makeServerPlace();
  // The issuer stays the same over restarts, as it does for a user.
  const args = ["--port", String(freePort())];
  const env = { OAUTH_RATE_LIMIT: "100000" };
  let server = await startServer(place, { args, env });
  try {
    const person = createPerson(server.url);
    await setUpOwner(person, server);
    const registration = await fetch(`${server.url}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: "none" }),
    });
    const { client_id: clientId } = await registration.json();
    const created = await runCommand(["token", "create", "--scope", "files:write", "--data-dir", place.dataDir]);
    const token = created.stdout.trim();

    const prepareCode = async (): Promise<PreparedCode> => {
      const verifier = randomBytes(32).toString("base64url");
      const url = new URL(`${server.url}/oauth/authorize`);
      url.search = new URLSearchParams({
        client_id: clientId,
        redirect_uri: redirectUri,
        response_type: "code",
        scope: "files:read",
        code_challenge: createHash("sha256").update(verifier).digest("base64url"),
        code_challenge_method: "S256",
      }).toString();
      return { code: (await approve(person, url)).searchParams.get("code") ?? "", verifier };
    };
    const redeem = async ({ code, verifier }: PreparedCode): Promise<string | null> => {
      const response = await fetch(`${server.url}/oauth/token`, {
        method: "POST",
        body: new URLSearchParams({
          grant_type: "authorization_code",
          client_id: clientId,
          redirect_uri: redirectUri,
          code,
          code_verifier: verifier,
        }),
      });
      const body = await response.json();
      return response.ok ? body.access_token : null;
    };
    const write = async (name: string, letter: string): Promise<boolean> => {
      const response = await postMcp(
        server.url,
        toolCall("file_write", { filename: name, content: letter.repeat(fileSize) }),
        { token },
      );
      return (await response.text()).includes('"isError":false');
    };

    for (let round = 0; round < rounds; round++) {
      const codes: PreparedCode[] = [];
      for (let count = 0; count < 4; count++) codes.push(await prepareCode());
      const names = Array.from({ length: 6 }, (_, index) => `${round}-${index}.txt`);
      for (const name of names) assert.ok(await write(name, "a"));

      // Answers that arrived before the kill are promises that must hold after it.
      let answers = 0;
      const enough = Promise.withResolvers<void>();
      const count = (): void => {
        if (++answers === 2 * round) enough.resolve();
      };
      const redeemed = codes.map((code) => redeem(code).catch(() => null).finally(count));
      const written = names.map((name) => write(name, "b").catch(() => false).finally(count));
      if (round > 0) await enough.promise; // the kill comes later in each round
      await server.stop("SIGKILL");
      const [tokens, done] = [await Promise.all(redeemed), await Promise.all(written)];

      server = await startServer(place, { args, env });
      for (const [index, name] of names.entries()) {
        const text = await workspaceText(server, { token, filename: name });
        assert.ok(text === "a".repeat(fileSize) || text === "b".repeat(fileSize), `${name} is whole`);
        if (done[index]) assert.equal(text[0], "b", `${name}: an acknowledged write is kept`);
      }
      for (const [index, code] of codes.entries()) {
        const before = tokens[index] ?? null;
        if (before !== null) {
          const accepted = await postMcp(server.url, toolCall("file_list", {}), { token: before });
          assert.equal(accepted.status, 200, "a token that was handed out still works");
          await accepted.body?.cancel();
        }
        const second = await redeem(code);
        if (before !== null) assert.equal(second, null, "a redeemed code does not work again");
        assert.equal(second === null ? null : await redeem(code), null);
      }
    }
    const listed = await postMcp(server.url, toolCall("file_list", {}), { token });
    const { result } = await listed.json();
    assert.equal(result.structuredContent.entries.length, rounds * 6, "no temporary is listed");
  } finally {
    await server.stop();
  }
});
