/**
 * The baseline: a bare Deno.serve that parses a JSON request and answers with as many bytes of JSON as Portcullis does
 * for the same request. Prints its port. `BARE_RESULT` holds the `result` to answer with. With `BARE_DIRECTORY` it reads the
 * file there that a request names, unconfined, and answers with its text wherever the result has it.
 */
import process from "node:process";

const result: unknown = JSON.parse(process.env["BARE_RESULT"] ?? "{}");
const directory = process.env["BARE_DIRECTORY"];

const answer = (id: unknown, value: unknown): Response =>
  new Response(JSON.stringify({ jsonrpc: "2.0", id, result: value }), {
    headers: { "content-type": "application/json" },
  });

const constant = async (request: Request): Promise<Response> => {
  const { id } = await request.json();
  return answer(id, result);
};

/** The result around the text, without a search for where that goes. */
const reading = (from: string): (request: Request) => Promise<Response> => {
  const { content: [, ...blocks], structuredContent, ...others } = result as {
    readonly content: readonly unknown[];
    readonly structuredContent?: object;
  };
  return async (request) => {
    const { id, params } = await request.json();
    const text = await Deno.readTextFile(`${from}/${params.arguments.filename}`);
    return answer(id, {
      content: [{ type: "text", text }, ...blocks],
      ...(structuredContent === undefined ? {} : { structuredContent: { ...structuredContent, content: text } }),
      ...others,
    });
  };
};

const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
const server = Deno.serve(options, directory === undefined ? constant : reading(directory));
process.stdout.write(`listening on http://127.0.0.1:${server.addr.port}\n`);
