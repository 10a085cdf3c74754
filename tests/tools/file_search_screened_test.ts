/** A search of many files, which a second thread looks through ahead of it, finds what a search without one finds. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { openDiskWorkspace } from "../../src/files/disk/disk_workspace.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { loadKernel } from "../../src/files/kernel/kernel.ts";
import { loadScreenedKernel } from "../fixtures/screened_kernel.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { until } from "../fixtures/until.ts";
import { answerOf } from "./with_workspace.ts";

const access = { denied: ["secret*"], protected: [] };

/** What a file of each number holds: most of it nothing that is searched for. */
function contentOf(n: number): Uint8Array | string {
  if (n % 97 === 0) return `first\nhere is the needle ${n}\nlast needle\n`;
  if (n % 89 === 0) return Buffer.from(`n\u00e4dle needle ${n}\n`, "latin1");
  if (n % 83 === 0) return Buffer.concat([Uint8Array.of(0xff, 0xfe), Buffer.from("a needle\r\n", "utf16le")]);
  if (n % 79 === 0) return `needle\0${n}`;
  if (n % 73 === 0) return `\ufeffneedle ${n}\r\nof CRLF\r\n`;
  if (n % 71 === 0) return "hay needl e\n".repeat(20_000);
  if (n === 500) return `${"hay ".repeat(400_000)}needle at the end of a large file`;
  if (n % 7 === 0) return "";
  return `hay ${n}\nmore h\u00e4y, \u{1f33e} and straw\n`;
}

function makeTree(root: string): void {
  for (let n = 0; n < 800; n++) {
    const directory = `${root}/d${n % 3}/e${n % 11}`;
    Deno.mkdirSync(directory, { recursive: true });
    const content = contentOf(n);
    Deno.writeFileSync(`${directory}/f${n}.txt`, typeof content === "string" ? Buffer.from(content) : content);
  }
  Deno.writeTextFileSync(`${root}/d1/secret.txt`, "a denied needle");
  Deno.writeTextFileSync(`${root}/d1/one`, "a needle of two names");
  Deno.linkSync(`${root}/d1/one`, `${root}/d1/two`);
  Deno.symlinkSync("f3.txt", `${root}/d0/e3/link`);
}

const queries: readonly Readonly<Record<string, unknown>>[] = [
  { query: "needle" },
  { query: "needle", show: "count" },
  { query: "needle", show: "files", limit: 3 },
  { query: "needle", limit: 7, context: 1 },
  { query: "needle", last: true, limit: 4 },
  { query: "needle", newest_first: true },
  { query: "NEEDLE", ignore_case: true, pattern: "**/f*1*.txt" },
  { query: "needle", whole_word: true },
  { query: "ne+dle \\d+$", regex: true, limit: 5 },
  { query: "\\w+ [0-9]+$", regex: true, show: "count" },
  { query: "h.y", regex: true, limit: 1_000 },
  { query: "nowhere" },
];

/** The answers of all pages. */
async function pagesOf(workspace: Workspace, request: Readonly<Record<string, unknown>>): Promise<unknown[]> {
  const tool = fileSearchTool(workspace, { clock: () => 0 }); // its pages do not depend on the machine's pace
  const pages: unknown[] = [];
  let cursor: unknown;
  do {
    const { text, structured } = await answerOf(tool, { ...request, ...cursor === undefined ? {} : { cursor } });
    pages.push({ text, structured });
    cursor = structured["next_cursor"];
  } while (cursor !== undefined);
  return pages;
}

/** The kernel's way to files, once its second thread is there. */
async function startScreening() {
  const { kernel } = loadScreenedKernel();
  assert.ok(kernel.available && kernel.roots.screen !== null);
  const { roots } = kernel;
  const { screen } = kernel.roots;
  await until("the thread", () => screen([/x/])).then((first) => first.end());
  return { roots, screen };
}

Deno.test({
  ...skippedUnless(
    loadKernel().available,
    "no openat2",
    "file_search gives the same answers with a second thread as without, page by page",
  ),
  sanitizeResources: false, // the thread ends when it was idle, or with the process
  sanitizeOps: false,
  async fn() {
    const { roots, screen } = await startScreening();
    let handed = 0;
    const counting: typeof screen = (screens) => {
      const screening = screen(screens);
      return screening === null ? null : {
        ...screening,
        hand(file, size) {
          handed++;
          screening.hand(file, size);
        },
      };
    };
    const root = Deno.makeTempDirSync();
    makeTree(root);
    const plain = openDiskWorkspace({ root, access, kernel: { ...roots, screen: null } });
    const screened = openDiskWorkspace({ root, access, kernel: { ...roots, screen: counting } });
    try {
      for (const query of queries) {
        const before = handed;
        assert.deepEqual(await pagesOf(screened, query), await pagesOf(plain, query), JSON.stringify(query));
        if (query["query"] === "nowhere") assert.ok(handed > before, "nothing was handed over");
      }
    } finally {
      await plain.close();
      await screened.close();
      Deno.removeSync(root, { recursive: true });
    }
  },
});

Deno.test({
  ...skippedUnless(
    loadKernel().available,
    "no openat2",
    "file_search that is given up in the midst leaves no file open, and the next search is whole",
  ),
  sanitizeResources: false,
  sanitizeOps: false,
  async fn() {
    const { roots } = await startScreening();
    const root = Deno.realPathSync(Deno.makeTempDirSync());
    makeTree(root);
    const workspace = openDiskWorkspace({ root, access, kernel: roots });
    const openBelow = (): number =>
      Array.from(Deno.readDirSync("/proc/self/fd")).filter(({ name }) => targetOf(name)).length;
    const targetOf = (name: string): boolean => {
      try {
        return Deno.readLinkSync(`/proc/self/fd/${name}`).startsWith(`${root}/`);
      } catch {
        return false;
      }
    };
    try {
      for (let looks = 1; looks < 40; looks++) {
        let asked = 0;
        // the clock is asked whether the time is over
        const tool = fileSearchTool(workspace, {
          clock: () => ++asked > looks ? 1e9 : 0,
          handOutAfterMilliseconds: 1e12,
        });
        await answerOf(tool, { query: "nowhere" });
      }
      await until("every file closed", () => openBelow() === 0);
      const { structured } = await answerOf(fileSearchTool(workspace), { query: "nowhere" });
      assert.equal(structured["files_searched"], 802);
    } finally {
      await workspace.close();
      Deno.removeSync(root, { recursive: true });
    }
  },
});
