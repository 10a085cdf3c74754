/**
 * Where the time of a read goes, in one process: the bare Deno call, the confined workspace, the tool with the encoding
 * of its result. What a call over stdio costs beyond that is the protocol and the pipe.
 */
import { loadKernel } from "../src/lib/kernel/kernel.ts";
import { fileReadTool } from "../src/files/tools/file_read.ts";
import { openDiskWorkspace } from "../src/files/disk/disk_workspace.ts";
import { parseFilePath } from "../src/files/workspace/path.ts";
import { quietCaller } from "../tests/fixtures/quiet_context.ts";
import type { ToolContext } from "../src/mcp/tool.ts";

const batches = 15;
const batchMilliseconds = 40;

const context: ToolContext = {
  principal: {
    subject: "bench",
    clientId: "bench",
    grantId: "bench",
    tokenId: "bench",
    keyId: null,
    scopes: new Set(),
    expiresAt: Number.MAX_SAFE_INTEGER,
  },
  signal: new AbortController().signal,
  progress: () => {},
  ...quietCaller,
};

/** Measures reads below `root` and prints a line for each size. */
export async function measureLayers(root: string, print: (text: string) => void): Promise<void> {
  const kernel = loadKernel();
  const confined = kernel.available ? { kernel: kernel.roots } : {};
  const workspace = openDiskWorkspace({ root, limits: { maxReadBytes: 16 * 1024 * 1024 }, ...confined });
  const tool = fileReadTool(() => workspace);
  print("\na read in one process, medians in microseconds, and how many times the bare call\n\n");
  print(
    `${"".padEnd(10)}${
      ["readFile", "readTextFile", "workspace", "tool + JSON"].map((name) => name.padStart(24)).join("")
    }\n`,
  );
  for (const name of ["1k", "100k", "10M"]) {
    const path = parseFilePath(name);
    if (!path.ok) throw new Error("unreachable");
    const layers = [
      () => Deno.readFileSync(`${root}/${name}`),
      () => Deno.readTextFileSync(`${root}/${name}`),
      () => workspace.read(path.value),
      async () => JSON.stringify(await tool.run(tool.input.parse({ filename: name }) as never, context)),
    ];
    const times = await measureInTurn(layers);
    const cells = times.map((time, index) =>
      `${time.toFixed(1)} (${(time / (times[index === 0 ? 0 : 1] ?? 1)).toFixed(2)})`
    );
    print(`${name.padEnd(10)}${cells.map((cell) => cell.padStart(24)).join("")}\n`);
  }
  await workspace.close();
}

/** The median time of each task in microseconds, from batches in turn. */
async function measureInTurn(tasks: readonly (() => unknown)[]): Promise<number[]> {
  const times: number[][] = tasks.map(() => []);
  for (let batch = -1; batch < batches; batch++) {
    for (const [index, task] of tasks.entries()) {
      const started = performance.now();
      let runs = 0;
      for (; performance.now() - started < batchMilliseconds; runs++) await task();
      if (batch >= 0) times[index]?.push((performance.now() - started) / runs * 1000);
    }
  }
  return times.map((all) => all.toSorted((a, b) => a - b)[all.length >> 1] ?? NaN);
}
