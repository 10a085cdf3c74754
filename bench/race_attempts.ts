/** Operations of the workspace while {@link ./race_swapper.ts} is at work, counted by what came of them. */
import { openDiskWorkspace } from "../src/files/disk/disk_workspace.ts";
import type { KernelRoots } from "../src/lib/kernel/descriptor.ts";
import type { WorkspacePath } from "../src/files/workspace/path.ts";
import type { FileContent, Outcome } from "../src/files/workspace/port.ts";

/** How one operation fared. */
export interface Attempt {
  readonly what: string;
  readonly tries: number;
  /** How often bytes or names from outside came back, or something outside was made or changed. */
  readonly escaped: number;
  /** How often it worked as if nobody raced. */
  readonly inside: number;
}

/** Where the attempts are made. */
export interface Scene {
  /** The workspace. */
  readonly root: string;
  /** With it, names are resolved by the kernel. */
  readonly kernel?: KernelRoots | undefined;
}

type Result = "escaped" | "inside" | "refused";

/** Something raced only if a read without checks is deceived so often. */
const leastRaces = 50;
const longestMilliseconds = 60_000;
const author = { subject: "owner", clientId: "client", grantId: "grant", tool: "file_delete" };

/** Tries each operation for `milliseconds`, and tells how it fared; the read without checks until somebody raced. */
export async function measureRaces(
  base: string,
  milliseconds: number,
  { root, kernel }: Scene,
  tell: (attempt: Attempt) => void,
): Promise<void> {
  const workspace = openDiskWorkspace({ root, kernel });
  const at = (text: string): WorkspacePath => ({ text, segments: text.split("/") });
  const outside = `${base}/outside`;
  /** What was made outside is taken away again; what must not change there is compared. */
  const judgeOutside = (names: readonly string[], result: Result): Result => {
    const made = names.filter((name) => isThere(`${outside}/${name}`));
    for (const name of made) Deno.removeSync(`${outside}/${name}`, { recursive: true });
    const isChanged = !isThere(`${outside}/f`) || Deno.lstatSync(`${outside}/f`).size !== 6;
    if (isChanged) Deno.writeTextFileSync(`${outside}/f`, "SECRET");
    return made.length > 0 || isChanged ? "escaped" : result;
  };
  const toResult = (outcome: Outcome<unknown>): Result => outcome.ok ? "inside" : "refused";

  await measure("no checks: read", () => readPlainly(`${root}/d/f`), leastRaces);
  await measure("read through a directory", async () => judgeContent(await workspace.read(at("d/f"))));
  await measure("read a file", async () => judgeContent(await workspace.read(at("g"))));
  const piece = new Uint8Array(64);
  await measure("read a part", async () => {
    const part = await workspace.readInto(at("d/f"), piece, 0);
    return part.ok ? judgeBytes(piece.subarray(0, part.value.lengthBytes)) : "refused";
  });
  await measure("list", async () => {
    const listing = await workspace.list(at("d"));
    const hasSecret = listing.ok && listing.value.entries.some(({ name }) => name === "SECRET-NAME");
    return hasSecret ? "escaped" : toResult(listing);
  });
  await measure("copy", async () => {
    const copied = await workspace.copy(at("d/f"), at("copy"), { overwrite: true });
    const isSecret = copied.ok && Deno.readTextFileSync(`${root}/copy`) === "SECRET";
    return isSecret ? "escaped" : toResult(copied);
  });
  await measure("write a new file", async () => {
    return judgeOutside(["w"], toResult(await workspace.write(at("d/w"), new Uint8Array(10))));
  });
  await measure("replace a file", async () => {
    return judgeOutside([], toResult(await workspace.write(at("d/f"), new TextEncoder().encode("inside, anew"))));
  });
  await measure("receive in pieces", async () => {
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (let count = 0; count < 3; count++) yield await Promise.resolve(new Uint8Array(5));
    }
    const [made, replaced] = [
      await workspace.receive(at("d/r"), pieces()),
      await workspace.receive(at("d/f"), pieces()),
    ];
    return judgeOutside(["r"], toResult(made.ok ? replaced : made));
  });
  await measure("append", async () => {
    return judgeOutside([], toResult(await workspace.write(at("g"), new Uint8Array(1), { mode: "append" })));
  });
  const bringBack = (): unknown => workspace.write(at("d/f"), new TextEncoder().encode("inside"));
  await measure("delete", async () => {
    await bringBack();
    return judgeOutside([], toResult(await workspace.remove(at("d/f"))));
  });
  await measure("move", async () => {
    await bringBack();
    return judgeOutside(["m"], toResult(await workspace.move(at("d/f"), at("d/m"), { overwrite: true })));
  });
  await measure("make a directory", async () => {
    return judgeOutside(["new"], toResult(await workspace.makeDirectory(at("d/new"))));
  });
  const keeping = openDiskWorkspace({ root, kernel, trash: { keepMs: 3_600_000, maxBytes: 100_000_000 } });
  await measure("bring back", async () => {
    await bringBack();
    let change = "";
    const removed = await keeping.begin(author, (id) => change = id).remove(at("d/f"));
    const restored = removed.ok ? await keeping.trash?.restore({ change, number: 1 }, at("d/back")) : removed;
    return judgeOutside(["back"], toResult(restored ?? removed));
  });
  await keeping.close();
  await workspace.close();

  async function measure(what: string, attempt: () => Result | Promise<Result>, least = 0): Promise<void> {
    const counts = { escaped: 0, inside: 0, refused: 0 };
    const start = performance.now();
    const isOver = (): boolean => {
      const elapsed = performance.now() - start;
      return elapsed > longestMilliseconds || (elapsed > milliseconds && counts.escaped >= least);
    };
    let tries = 0;
    for (; !isOver(); tries++) counts[await attempt()]++;
    tell({ what, tries, escaped: counts.escaped, inside: counts.inside });
  }
}

function judgeContent(content: Outcome<FileContent>): Result {
  return content.ok ? judgeBytes(content.value.bytes) : "refused";
}

function judgeBytes(bytes: Uint8Array): Result {
  return new TextDecoder().decode(bytes).startsWith("SECRET") ? "escaped" : "inside";
}

function readPlainly(path: string): Result {
  try {
    return Deno.readTextFileSync(path) === "SECRET" ? "escaped" : "inside";
  } catch {
    return "refused"; // caught between two renames
  }
}

function isThere(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false; // nothing escaped
  }
}
