/** Documents in a running server, whose worker starts the thread that reads them. */
import assert from "node:assert/strict";
import { call, createToken } from "../sandbox/call.ts";
import { makePdf } from "../fixtures/pdf.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";

Deno.test("a running server reads and searches documents, and refuses damaged ones in a sentence", async () => {
  await using place = await makeServerPlace();
  await Deno.mkdir(place.workspaceDir, { recursive: true });
  await Deno.writeFile(`${place.workspaceDir}/a.pdf`, makePdf([["cover"], ["notice is three months"]]));
  await Deno.writeFile(`${place.workspaceDir}/cut.pdf`, makePdf([["cover"]]).subarray(0, 200));
  const token = await createToken(place.dataDir);
  await using server = await startServer(place, { env: { OLLAMA_HOST: "127.0.0.1:1" } });
  const ask = (name: string, input: Record<string, unknown>): Promise<string> => call(server, token, name, input);
  assert.match(await ask("file_read", { filename: "a.pdf" }), /--- p2 ---\nnotice is three months/);
  assert.match(await ask("file_read", { filename: "cut.pdf" }), /damaged/);
  assert.match(await ask("file_search", { query: "three months" }), /\[p2\] notice is three months/);
});
