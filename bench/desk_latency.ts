/** A record read through the server beside a bare fetch of it with the person's own token, in the same minute. */
import { postMcp, toolCall } from "../tests/fixtures/mcp_call.ts";
import { startServicenowServer } from "../tests/fixtures/servicenow/server.ts";
import { median, print } from "./table.ts";

const rounds = 200;
const headers = { "mcp-protocol-version": "2025-06-18", accept: "application/json" };

/** `delayMs` is how long the instance takes for an answer. */
export async function compareLatency(delayMs: number): Promise<void> {
  await using place = await startServicenowServer({ MCP_RATE_LIMIT: "100000" }, { data: "desk" });
  const token = await place.signIn("ada", "servicenow:read");
  const call = async (): Promise<void> => {
    const message = toolCall("servicenow_get_record", { id: "INC0010016" });
    const answer = await postMcp(place.server.url, message, { token, headers });
    const { result } = await answer.json();
    if (result.isError === true) throw new Error(result.content[0].text);
  };
  await call();
  const asked = place.instance.requests.at(-1);
  const url = `${place.instance.origin}${asked?.path}?${asked?.query}`;
  const bare = async (): Promise<void> => {
    const answer = await fetch(url, {
      headers: { accept: "application/json", authorization: asked?.headers["authorization"] ?? "" },
    });
    if (!answer.ok) throw new Error(`the instance answered ${answer.status}`);
    await answer.json();
  };
  place.instance.habits.delayMs = delayMs;
  const taken: Record<"call" | "bare", number[]> = { call: [], bare: [] };
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of [["call", call], ["bare", bare]] as const) {
      const begin = performance.now();
      await run();
      taken[name].push(performance.now() - begin);
    }
  }
  const [ours, direct] = [median(taken.call), median(taken.bare)];
  print(
    `a record, instance that takes ${delayMs} ms: ${ours.toFixed(2)} ms through the server, ` +
      `${direct.toFixed(2)} ms by a bare fetch, ratio ${(ours / direct).toFixed(2)}\n`,
  );
}
