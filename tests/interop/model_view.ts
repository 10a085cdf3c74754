/** What an agent's model gets to read of the server's answers: every byte that matters, and images as images. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { type ScriptedCall, startScriptedModel } from "../fixtures/scripted_model.ts";
import { setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, startServer } from "../fixtures/running_server.ts";
import type { Agent } from "./agent_client.ts";
import { installFromNpm } from "./npm_client.ts";

/** What an agent does to answers. */
interface View {
  /** Answers of this many characters arrive whole: agents cut longer ones, in the middle or to a preview. */
  readonly wholeCharacters: number;
}

const text = 'grüße ☃ "quoted" \\ tab\t end\nsecond line\n';
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
const entries = Array.from({ length: 200 }, (_, index) => `entry-${String(index).padStart(3, "0")}.md`);
const line = "A line of the long file, with its own number: ";
const runSeconds = 300;

/** Signs the agent in, has its model ask for files, and looks at what the model gets; throws at what is missing. */
export async function checkModelView(agent: Agent, { wholeCharacters }: View): Promise<void> {
  await using model = startScriptedModel();
  await using client = await installFromNpm(agent.packages, agent.environment(model));
  await using place = await makeServerPlace();
  const long = Array.from({ length: Math.floor(wholeCharacters / 60) }, (_, index) => `${line}${index}\n`).join("");
  const files: Record<string, string> = { "a.txt": text, "long.txt": long };
  for (const [index, name] of entries.entries()) files[`list/${name}`] = `TODO number ${index}\n`;
  await Deno.mkdir(`${place.workspaceDir}/list`, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    await Deno.writeTextFile(`${place.workspaceDir}/${name}`, content);
  }
  await Deno.writeFile(`${place.workspaceDir}/pixel.png`, Buffer.from(pixel, "base64"));

  const server = await startServer(place, { env: { CLIENT_METADATA_DOCUMENTS: "off", COMPATIBILITY: "auto" } });
  try {
    const person = createPerson(server.url);
    await setUpOwner(person, server);
    await agent.configure(client, `${server.url}/mcp`, model);
    await client.signIn(agent.signIn, person, agent.screen);
    const ask = async (calls: readonly ScriptedCall[]): Promise<readonly string[]> => {
      model.play(calls);
      const said = await client.shell(agent.ask, runSeconds);
      assert.equal(model.results.length, calls.length, said);
      return model.results.map((result) => stringsIn(JSON.parse(result)).join("\n"));
    };
    const [whole = "", image = "", missing = "", listed = "", found = "", range = "", page = ""] = await ask([
      { tool: "file_read", input: { filename: "a.txt" } },
      { tool: "file_read", input: { filename: "pixel.png" } },
      { tool: "file_read", input: { filename: "A.TXT" } },
      { tool: "file_list", input: { path: "list" } },
      { tool: "file_search", input: { query: "TODO number 1", path: "list", limit: 50 } },
      { tool: "file_read", input: { filename: "a.txt:2-2" } },
      { tool: "file_read", input: { filename: "long.txt", max_bytes: 1_000_000 } },
    ]);
    assert.ok(whole.includes(text), whole);
    assert.match(whole, /\(a\.txt: 2 lines, \d+ bytes, version [0-9a-f]{12}; untrusted file text\)/);
    assert.ok(image.includes(pixel), "the image arrives as an image");
    assert.match(image, /\(pixel\.png: image\/png/);
    assert.match(missing, /Failed to read file: no such file or directory \(A\.TXT\); did you mean a\.txt\?/);
    assert.ok(model.request.includes("Files live in one workspace"), "the model is told the server's instructions");
    for (const name of entries) assert.ok(listed.includes(name), `${name} in ${listed}`);
    for (const index of [1, 10, 19, 100, 138]) assert.ok(found.includes(`TODO number ${index}`), found);
    assert.match(found, /entry-138\.md/);
    assert.match(range, /line 2 of 2; the next 1 line, 12 bytes, are untrusted file text/);
    assert.ok(range.includes("2\tsecond line\n"), range);
    assert.ok(page.includes(long), `${page.length} of ${long.length} characters: ${page.slice(0, 200)}`);
  } finally {
    await server.stop();
  }
}

/** All texts of a value, those in JSON texts too. */
function stringsIn(value: unknown): string[] {
  if (typeof value === "string") {
    if (!/^\s*[[{]/.test(value)) return [value];
    try {
      return stringsIn(JSON.parse(value));
    } catch {
      return [value];
    }
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}
