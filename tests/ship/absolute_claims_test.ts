/** Sentences of the documentation that say "never", "always", "nothing" or "only": a test holds each of them. */
import assert from "node:assert/strict";
import { root } from "../../scripts/bundle.ts";

/** What a page says, and the test that shows it. */
const shown: readonly (readonly [page: string, words: string, file: string, test: string])[] = [
  ["README", "Nothing needs to be configured", "config/config_test.ts", "loadConfig() with nothing set"],
  [
    "docs/security",
    "a link counts only if it stays inside at every step",
    "workspace/disk_confinement_test.ts",
    "a random tree with links never gives bytes",
  ],
  [
    "docs/tools",
    "Other clients are told nothing of it",
    "console/view_test.ts",
    "only clients that show views are told of it",
  ],
  [
    "docs/security",
    "only the name that its directory lists works",
    "workspace/other_spellings_test.ts",
    "is neither changed nor, where it is denied, read by the spelling",
  ],
  [
    "docs/security",
    "The page about a failure says nothing of what the network did",
    "authorization_server/client_metadata_document_test.ts",
    "the page is the same for a private address",
  ],
  [
    "docs/operations",
    "exits 1 only for what keeps the server from serving",
    "end_to_end/doctor_test.ts",
    "doctor says what is wrong and what to do, a line each, and exits 1",
  ],
  [
    "docs/operations",
    "The log never blocks the server",
    "end_to_end/standard_streams_test.ts",
    "is a pipe that is not read",
  ],
  [
    "docs/operations",
    "for an hour only what has expired by both times is deleted",
    "lib/wall_clock_watch_test.ts",
    "deletes nothing more for an hour",
  ],
  ["docs/operations", "A kill at any moment loses nothing", "soak/soak_test.ts", "nothing acknowledged is lost"],
  [
    "docs/storage",
    "either all of it or nothing",
    "soak/soak_test.ts",
    "nothing acknowledged is lost, torn or undone",
  ],
  [
    "docs/storage",
    "every watch is called, and nothing is missed",
    "storage/postgres_test.ts",
    "what was written while its connection was cut",
  ],
  [
    "docs/console",
    "It holds arguments and contents only with `NOTIFY_CONTENTS=on`",
    "notices/story_test.ts",
    "a held call reaches the phone",
  ],
  ["docs/tools", "never the result", "mcp/streams_test.ts", "loses progress rather than memory"],
  ["docs/servicenow", "answers JSON, never a stream", "mcp/profile_test.ts", "no sessions, no streams"],
  [
    "docs/servicenow",
    "exist only with `SERVICENOW_WRITE=on`",
    "servicenow/desk/tool_list_test.ts",
    "tools that write are offered only when",
  ],
  [
    "docs/servicenow",
    "replaces a file only where `filename` names it",
    "servicenow/desk/attachment_name_test.ts",
    "an attachment saved by its own name replaces nothing",
  ],
  [
    "docs/servicenow",
    "is never sent to ServiceNow, and ServiceNow's is never accepted here",
    "end_to_end/servicenow_rights_test.ts",
    "no token crosses the server",
  ],
  [
    "docs/servicenow",
    "works only in the browser that left",
    "servicenow/link_flow_test.ts",
    "finish() refuses any browser but the one that began",
  ],
  [
    "docs/servicenow",
    "a link is made only for the person who began it",
    "servicenow/link_flow_test.ts",
    "finish() refuses another person than the one who began",
  ],
  [
    "docs/servicenow",
    "nothing is sent to another host than the instance",
    "servicenow/faults_test.ts",
    "no token reaches a host that a redirect or a Link names",
  ],
];

/** Generated, or held by tests of their own; the last confesses. */
const others = ["architecture.md", "configuration.md", "rough-edges.md"];
const pages = ["README", "SECURITY"].concat(
  Array.from(Deno.readDirSync(`${root}docs`), ({ name }) => name)
    .filter((name) => name.endsWith(".md") && !others.includes(name)).map((name) => `docs/${name.slice(0, -3)}`),
);

async function sentencesOf(page: string): Promise<readonly string[]> {
  const text = (await Deno.readTextFile(`${root}${page}.md`)).replace(/^```[^]*?^```/gm, "").replace(/\s+/g, " ");
  // "(never)" at the end of a record's row says when it ends.
  return text.replace(/\bnever\)/g, ")").split(/(?<=[.:;|]) /);
}

Deno.test("documentation: each sentence with never, always, nothing or only is held by a test", async () => {
  const unheld: string[] = [];
  for (const page of pages) {
    for (const sentence of await sentencesOf(page)) {
      if (!/\b(?:never|always|nothing|(?<!read-)only)\b/i.test(sentence)) continue;
      if (!shown.some(([name, words]) => name === page && sentence.includes(words))) {
        unheld.push(`${page}: ${sentence}`);
      }
    }
  }
  assert.deepEqual(unheld, []);
});

Deno.test("documentation: the tests that hold such sentences exist, and the pages say them", async () => {
  for (const [page, words, file, test] of shown) {
    assert.ok((await sentencesOf(page)).some((sentence) => sentence.includes(words)), `${page}: ${words}`);
    assert.ok((await Deno.readTextFile(`${root}tests/${file}`)).includes(test), `${file}: ${test}`);
  }
});
