import assert from "node:assert/strict";
import { createAccessRules } from "../../src/files/workspace/access_rules.ts";
import { createPathRoots } from "../../src/files/disk/checked_path.ts";
import { createDiskAccess } from "../../src/files/disk/directory.ts";
import type { DiskListing } from "../../src/files/disk/directory.ts";
import { createDirectoryScans } from "../../src/files/disk/resolve.ts";

const later = (): number => Date.now() + 60_000; // when the last change is long ago

Deno.test("an unchanged directory is read once for all its pages, and again once it was changed", async () => {
  await inDirectory(async (path) => {
    for (const name of ["c", "a", "d", "b", "\ud83d\ude00", "\uffee"]) Deno.writeTextFileSync(`${path}/${name}`, "");
    const scans = createDirectoryScans(later);
    assert.deepEqual(await page(scans, path, { size: 2 }), { names: ["a", "b"], isRead: true });
    assert.deepEqual(await page(scans, path, { after: "b", size: 3 }), { names: ["c", "d", "\uffee"], isRead: false });
    assert.deepEqual(await page(scans, path, { after: "bb", size: 1 }), { names: ["c"], isRead: false });
    assert.deepEqual(await page(scans, path, { after: "\uffee", size: 9 }), {
      names: ["\ud83d\ude00"],
      isRead: false,
    });
    changeUntilItShows(path);
    Deno.mkdirSync(`${path}/aa`);
    assert.deepEqual(await page(scans, path, { size: 2 }), { names: ["a", "aa"], isRead: true });
  });
});

Deno.test("a directory that was changed just now is read again each time: the next change might not show", async () => {
  await inDirectory(async (path) => {
    const changedAt = Deno.lstatSync(path).ctime?.getTime() ?? 0;
    const scans = createDirectoryScans(() => changedAt + 1_999);
    for (let time = 0; time < 3; time++) {
      Deno.writeTextFileSync(`${path}/${time}`, "");
      const { names, isRead } = await page(scans, path, { size: 10 });
      assert.deepEqual([names.length, isRead], [time + 1, true]);
    }
  });
});

Deno.test("long directories are not kept, and give the same pages", async () => {
  await inDirectory(async (path) => {
    const names = Array.from({ length: 40 }, (_, n) => `n${String(n).padStart(2, "0")}`);
    for (const name of names.toReversed()) Deno.writeTextFileSync(`${path}/${name}`, "");
    const scans = createDirectoryScans(later, 39);
    for (let start = 0; start < 40; start += 10) {
      const after = names[start - 1];
      const expected = { names: names.slice(start, start + 10), isRead: true };
      assert.deepEqual(await page(scans, path, { size: 10, ...after === undefined ? {} : { after } }), expected);
    }
  });
});

Deno.test("empty directories are not kept without bound either", async () => {
  await inDirectory(async (base) => {
    for (const name of ["a", "b", "c"]) Deno.mkdirSync(`${base}/${name}`);
    const scans = createDirectoryScans(later, 2);
    const isRead = async (name: string): Promise<boolean> => (await page(scans, `${base}/${name}`, { size: 1 })).isRead;
    assert.deepEqual([await isRead("a"), await isRead("b"), await isRead("a")], [true, true, false]);
    assert.deepEqual([await isRead("c"), await isRead("b")], [true, true]);
  });
});

Deno.test("of several directories those that were used last are kept", async () => {
  await inDirectory(async (base) => {
    for (const name of ["a", "b", "c"]) {
      Deno.mkdirSync(`${base}/${name}`);
      for (let n = 0; n < 4; n++) Deno.writeTextFileSync(`${base}/${name}/${n}`, "");
    }
    const scans = createDirectoryScans(later, 10);
    const isRead = async (name: string): Promise<boolean> => (await page(scans, `${base}/${name}`, { size: 1 })).isRead;
    assert.deepEqual([await isRead("a"), await isRead("b"), await isRead("a"), await isRead("c")], [
      true,
      true,
      false,
      true,
    ]);
    assert.deepEqual([await isRead("a"), await isRead("c"), await isRead("b")], [false, false, true]);
  });
});

Deno.test("what was read of a directory that was swapped meanwhile is neither given nor kept", async () => {
  await inDirectory(async (path) => {
    Deno.writeTextFileSync(`${path}/a`, "");
    const scans = createDirectoryScans(later);
    using listing = open(path);
    const options = { after: undefined, size: 9, accepts: () => true };
    assert.equal(await scans.read(withLookAgain(listing, () => null), { path, ...options }), null);
    assert.deepEqual(await page(scans, path, { size: 9 }), { names: ["a"], isRead: true });
  });
});

function open(path: string): DiskListing {
  const root = createDiskAccess(path, createPathRoots(createAccessRules())).root();
  assert.ok(root);
  return root.list(".");
}

function withLookAgain(listing: DiskListing, lookAgain: DiskListing["lookAgain"]) {
  const entries = () => listing.entries();
  const entriesInTurns = () => listing.entriesInTurns();
  return { info: listing.info, entries, entriesInTurns, lookAgain };
}

/** The names of one page, and whether the directory was read for it. */
async function page(
  scans: ReturnType<typeof createDirectoryScans>,
  path: string,
  { after, size }: { readonly after?: string; readonly size: number },
): Promise<{ readonly names: readonly string[]; readonly isRead: boolean }> {
  let isRead = false;
  using opened = open(path);
  const listing = withLookAgain(opened, () => {
    isRead = true;
    return opened.lookAgain();
  });
  const entries = await scans.read(listing, { path, after, size, accepts: () => true });
  assert.ok(entries !== null);
  return { names: entries.map(({ name }) => name), isRead };
}

/** File systems tell times only so finely. */
function changeUntilItShows(path: string): void {
  const timeOf = (): number | undefined => Deno.lstatSync(path).ctime?.getTime();
  for (const before = timeOf(); timeOf() === before;) {
    Deno.writeTextFileSync(`${path}/changed`, "");
    Deno.removeSync(`${path}/changed`);
  }
}

async function inDirectory(body: (path: string) => Promise<void>): Promise<void> {
  const path = Deno.realPathSync(Deno.makeTempDirSync());
  try {
    await body(path);
  } finally {
    Deno.removeSync(path, { recursive: true });
  }
}
