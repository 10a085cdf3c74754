/**
 * The baseline: a bare Deno.serve that parses a JSON request and answers with as many bytes of JSON as Portcullis does
 * for the same request. Prints its port. `BARE_RESULT` holds the `result` to answer with.
 */
import process from "node:process";

const result: unknown = JSON.parse(process.env["BARE_RESULT"] ?? "{}");

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
  const { id } = await request.json();
  return new Response(JSON.stringify({ jsonrpc: "2.0", id, result }), {
    headers: { "content-type": "application/json" },
  });
});
process.stdout.write(`listening on http://127.0.0.1:${server.addr.port}\n`);
