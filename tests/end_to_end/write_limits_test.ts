/** How much one call may write, over HTTP: the file's limit is what refuses, not the request's. */
import assert from "node:assert/strict";
import { withFileServer } from "../fixtures/file_server.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";

for (const [env, limit] of [[{}, 1_048_576], [{ MAX_WRITE_BYTES: "3000000" }, 3_000_000]] as const) {
  Deno.test(`a file of ${limit} bytes is written whatever JSON makes of its text, one more byte is refused by name`, () =>
    withFileServer({ env }, async ({ server, token }) => {
      const write = async (content: string): Promise<{ status: number; text: string }> => {
        const response = await postMcp(server.url, toolCall("file_write", { filename: "a", content }), { token });
        return { status: response.status, text: await response.text() };
      };
      for (const character of ["\n", '"', "\\", "x"]) {
        const written = await write(character.repeat(limit));
        assert.equal(written.status, 200);
        assert.match(written.text, new RegExp(`"size_bytes":${limit}`));
      }
      const refused = await write("\n".repeat(limit + 1));
      assert.equal(refused.status, 200);
      assert.match(refused.text, new RegExp(`it has ${limit + 1} bytes and the limit is ${limit}`));
      assert.equal((await write("x".repeat(2 * limit + 65_536))).status, 413);
    }));
}
