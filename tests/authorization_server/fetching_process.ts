/**
 * For descriptors_test.ts: fetches failing documents with the permissions of the main thread of `serve`, as told by
 * lines on standard input: `{ port, host, count }`. Its descriptors are counted from outside.
 */
import { createDocumentFetcher, createInternet } from "../../src/lib/document_fetcher.ts";
import { giveUp, permissionNames } from "../../src/app/sandbox/permissions.ts";

const authorities = await Deno.readTextFile(new URL("./fixtures/ca.pem", import.meta.url));
giveUp(permissionNames.filter((name) => name !== "net"));

const real = createInternet(authorities);
let port = 0;
let servername = "";
let now = 0;
const fetchDocument = createDocumentFetcher(
  {
    resolve: () => Promise.resolve(["93.184.216.34"]),
    get: (options) => real.get({ ...options, host: "127.0.0.1", port, servername }),
  },
  () => now += 1_000, // the rate of fetches is not what this is about
  { timeoutMs: 250 },
);

const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
for await (const line of lines) {
  const round: { port: number; host: string; count: number } = JSON.parse(line);
  port = round.port;
  servername = round.host;
  const reasons: Record<string, number> = {};
  let next = 0;
  const ask = async (asker: number): Promise<void> => {
    while (next < round.count) {
      const fetched = await fetchDocument(`https://h${next++}.p${port}.example.com/client.json`, `asker ${asker}`);
      const reason = fetched.ok ? "fetched" : fetched.error;
      reasons[reason] = (reasons[reason] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, asker) => ask(asker)));
  await Deno.stdout.write(new TextEncoder().encode(`${JSON.stringify(reasons)}\n`));
}
