/** The actor that only reads: lists, searches and files that nobody changes have the same answer for ever. */
import assert from "node:assert/strict";
import { type Actor, type Stage, unlessCut } from "./actor.ts";
import { callTool, post, readFile } from "./mcp.ts";

const directory = "library";
const fileCount = 20;

/** Writes the library, then reads it. */
export async function createReadsActor(name: string, { server, random, count }: Stage, token: string): Promise<Actor> {
  const contents = new Map<string, string>();
  for (let index = 0; index < fileCount; index++) {
    const filename = `${directory}/${index}.md`;
    const content = `# Book ${index}\nshelf ${index % 5}\n${"word ".repeat(random.int(2_000))}\n`;
    while (await unlessCut(callTool(server, token, "file_write", { filename, content })) === null);
    contents.set(filename, content);
  }
  const list = async (): Promise<void> => {
    const { entries } = await callTool(server, token, "file_list", { path: directory });
    assert.equal((entries as readonly unknown[]).length, fileCount);
  };
  const search = async (): Promise<void> => {
    const shelf = random.int(5);
    const input = { query: `shelf ${shelf}$`, regex: random.chance(0.5), path: directory };
    if (!input.regex) input.query = `shelf ${shelf}`;
    const { matches } = await callTool(server, token, "file_search", input);
    assert.equal((matches as readonly unknown[]).length, fileCount / 5, JSON.stringify(matches).slice(0, 500));
  };
  const read = async (): Promise<void> => {
    const [filename, content] = random.pick([...contents]);
    assert.equal(await readFile(server, token, filename), content);
  };
  const listTools = async (): Promise<void> => {
    const { status, result } = await post(server, { jsonrpc: "2.0", id: 1, method: "tools/list" }, { token });
    assert.equal(status, 200);
    assert.ok((result?.["tools"] as readonly unknown[]).length > 5);
  };
  const readResource = async (): Promise<void> => {
    const [filename, content] = random.pick([...contents]);
    const params = { uri: `workspace:///${filename}` };
    const { result } = await post(server, { jsonrpc: "2.0", id: 1, method: "resources/read", params }, { token });
    assert.equal((result?.["contents"] as readonly { text: string }[])[0]?.text, content);
  };
  const all = { list, search, read, listTools, readResource };
  return {
    name,
    async step() {
      const what = random.pick(Object.keys(all) as (keyof typeof all)[]);
      await all[what]();
      count(`read by ${what}`);
    },
    rest: () => Promise.resolve(),
    async audit() {
      for (const [filename, content] of contents) assert.equal(await readFile(server, token, filename), content);
    },
  };
}
