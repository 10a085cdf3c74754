/** The screener: a second thread that gets open files. What it says of them, and that each is closed once. */
import assert from "node:assert/strict";
import type { BeginScreening, Descriptor, Screening } from "../../src/files/kernel/descriptor.ts";
import { loadKernel } from "../../src/files/kernel/kernel.ts";
import { permittedLibraries } from "../../src/lib/library_paths.ts";
import { screenerModule } from "../../src/files/kernel/screener.ts";
import { memoryLayout, placeStates, screenerMemoryBytes, screenerStates } from "../../src/files/kernel/screening.ts";
import { createScreenerStarter } from "../../src/app/sandbox/screener_thread.ts";
import { loadScreenedKernel } from "../fixtures/screened_kernel.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";
import { until } from "../fixtures/until.ts";

interface Scene extends Disposable {
  readonly root: Descriptor;
  readonly directory: string;
  readonly begin: BeginScreening;
  /** How many screeners were asked for. */
  readonly wanted: () => number;
}

/** A directory, and a way to its files with a screener. */
function makeScene(idleMs?: number): Scene {
  const { kernel, wanted } = loadScreenedKernel(idleMs);
  assert.ok(kernel.available && kernel.roots.screen !== null);
  const directory = Deno.makeTempDirSync();
  const root = kernel.roots.open(directory);
  return {
    root,
    directory,
    begin: kernel.roots.screen,
    wanted,
    [Symbol.dispose]() {
      root.close();
      Deno.removeSync(directory, { recursive: true });
    },
  };
}

function kernelTest(name: string, fn: () => void | Promise<void>): void {
  // its thread ends when it was idle, or with the process
  Deno.test({
    ...skippedUnless(loadKernel().available, "no openat2", name),
    fn,
    sanitizeResources: false,
    sanitizeOps: false,
  });
}

const begun = (begin: BeginScreening, screens: readonly RegExp[]): Promise<Screening> =>
  until("a screener", () => begin(screens));

async function told(screening: Screening): Promise<string> {
  screening.rouse();
  return await until("an answer", () => {
    const known = screening.next();
    return known === "waiting" ? null : known;
  });
}

/** The descriptors of files in the directory: threads open and close others. */
function openFiles({ directory }: Pick<Scene, "directory">): number {
  const links = Array.from(Deno.readDirSync("/proc/self/fd"), ({ name }) => targetOf(`/proc/self/fd/${name}`));
  return links.filter((target) => target.startsWith(`${directory}/`)).length;
}

function targetOf(link: string): string {
  try {
    return Deno.readLinkSync(link);
  } catch {
    return ""; // closed since
  }
}

kernelTest("a screener tells what surely holds nothing, in the order in which files were handed over", async () => {
  using scene = makeScene();
  const text = (content: string): Uint8Array => new TextEncoder().encode(content);
  const files: readonly (readonly [name: string, bytes: Uint8Array, known: string])[] = [
    ["without", text("hay and hay\n".repeat(50)), "nothing"],
    ["with", text("hay\na needle\n"), "look"],
    ["one of both", text("need less hay"), "nothing"],
    ["empty", text(""), "nothing"],
    ["beyond ASCII", text("h\u00e4y \u{1f33e}\n"), "nothing"],
    ["binary", text("hay\0hay"), "look"],
    ["not UTF-8", Uint8Array.of(104, 0xe4, 121), "look"],
    ["as large as it may be", text("hay ".repeat(262_144)), "nothing"],
    ["match at the end", text(`${"hay ".repeat(262_142)} needle`), "look"],
    ["too large", text("hay ".repeat(262_145)), "look"],
  ];
  for (const [name, bytes] of files) Deno.writeFileSync(`${scene.directory}/${name}`, bytes);
  const screening = await begun(scene.begin, [/need/, /e{2}.le/i]);
  assert.equal(scene.begin([/x/]), null, "one search has it at a time");
  for (const [name, bytes] of files) screening.hand(scene.root.open(name, "read"), bytes.length);
  for (const [name, , known] of files) assert.equal(await told(screening), known, name);
  screening.hand(scene.root.open("without", "read"), 5);
  assert.equal(await told(screening), "look", "a file that has changed its size");
  screening.end();
  assert.equal(openFiles(scene), 0);
  const again = await begun(scene.begin, [/hay/]);
  again.hand(scene.root.open("without", "read"), 600);
  assert.equal(await told(again), "look", "by the screens of this search");
  again.end();
});

kernelTest("hundreds of searches, ended wherever they are, close each file once", async () => {
  using scene = makeScene();
  for (let n = 0; n < 64; n++) Deno.writeTextFileSync(`${scene.directory}/${n}`, `content ${n}\n`.repeat(1 + n * 20));
  await begun(scene.begin, [/x/]).then((first) => first.end());
  const bytes = new Uint8Array(20);
  const nameOf = (n: number): string => `${n % 64}`;
  const sizeOf = (name: string): number => Deno.statSync(`${scene.directory}/${name}`).size;
  const sizes = Array.from({ length: 64 }, (_, n) => sizeOf(nameOf(n)));
  for (let search = 0; search < 300; search++) {
    const screening = await begun(scene.begin, [new RegExp(`needle${search}`)]);
    const mine: [string, Descriptor][] = [];
    for (let n = 0; n < search % 150; n++) {
      const name = nameOf(search + n);
      if (screening.isFull()) {
        // a number that was closed twice would be closed under one of these
        if (mine.length < 8) mine.push([name, scene.root.open(name, "read")]);
        if (screening.next() !== "waiting") continue;
      } else screening.hand(scene.root.open(name, "read"), sizes[Number(name)] ?? 0);
    }
    for (let n = search % 3; n > 0 && search % 150 > 3; n--) await told(screening);
    screening.end();
    for (const [name, file] of mine) {
      const count = file.read(bytes, 0);
      assert.ok(new TextDecoder().decode(bytes.subarray(0, count)).startsWith(`content ${name}\n`.slice(0, count)));
      file.close();
    }
  }
  await until("every descriptor closed", () => openFiles(scene) === 0);
  assert.equal(scene.wanted(), 1);
});

kernelTest("a screener that fails is followed by none, and what it had is closed", async () => {
  using scene = makeScene();
  for (let n = 0; n < 64; n++) Deno.writeTextFileSync(`${scene.directory}/${n}`, "hay\n");
  await begun(scene.begin, [/x/]).then((first) => first.end());
  const broken = { source: "(", flags: "" } as RegExp; // it throws, with a file taken
  const screening = await begun(scene.begin, [broken]);
  for (let n = 0; n < 64; n++) screening.hand(scene.root.open(`${n}`, "read"), 4);
  for (let n = 0; n < 64; n++) assert.equal(await told(screening), "look");
  assert.ok(screening.isFull(), "nothing more is handed over");
  screening.end();
  assert.equal(openFiles(scene), 0);
  assert.equal(scene.begin([/x/]), null);
  assert.equal(scene.wanted(), 1);
});

kernelTest("a screener that hangs in a file keeps that one, and no search waits for it twice", () => {
  let memory: SharedArrayBuffer | undefined;
  const kernel = loadKernel({ keep: (made) => memory = made, want: () => {} });
  assert.ok(kernel.available && kernel.roots.screen !== null && memory !== undefined);
  const words = new Int32Array(memory, 0, memoryLayout.placesAt + 3 * memoryLayout.placeWords);
  const directory = Deno.makeTempDirSync();
  Deno.writeTextFileSync(`${directory}/a`, "hay\n");
  const root = kernel.roots.open(directory);
  const { screen } = kernel.roots;
  assert.equal(screen([/x/]), null);
  words[memoryLayout.stateAt] = screenerStates.running; // the test is the screener
  const screening = screen([/x/]) ?? assert.fail("busy");
  for (let n = 0; n < 3; n++) screening.hand(root.open("a", "read"), 4);
  words[memoryLayout.placesAt] = placeStates.taken;
  assert.equal(screening.next(), "waiting");
  screening.end();
  assert.equal(openFiles({ directory }), 1);
  assert.equal(screen([/x/]), null, "it may be reading the screens");
  words[memoryLayout.placesAt] = placeStates.look; // it comes back, and has closed the file
  const next = screen([/x/]) ?? assert.fail("still busy");
  next.hand(root.open("a", "read"), 4);
  assert.equal(words[memoryLayout.placesAt + memoryLayout.placeWords], placeStates.offered, "where it waits");
  next.end();
  assert.equal(openFiles({ directory }), 1);
  root.close();
  Deno.removeSync(directory, { recursive: true });
});

kernelTest("an idle screener ends, and the next search has a new one", async () => {
  using scene = makeScene(50);
  Deno.writeTextFileSync(`${scene.directory}/a`, "hay\n");
  for (let round = 1; round <= 3; round++) {
    const screening = await begun(scene.begin, [/needle/]);
    for (let n = 0; n < 5; n++) {
      screening.hand(scene.root.open("a", "read"), 4);
      await told(screening);
    }
    screening.end();
    await until("another is wanted", () => {
      scene.begin([/x/])?.end();
      return scene.wanted() > round;
    });
  }
});

kernelTest("a screener gets the memory that came first, and no other", async () => {
  const [first, second] = [0, 0].map(() => new SharedArrayBuffer(screenerMemoryBytes));
  assert.ok(first !== undefined && second !== undefined);
  const stateOf = (memory: SharedArrayBuffer): number => Atomics.load(new Int32Array(memory), memoryLayout.stateAt);
  const starter = createScreenerStarter(permittedLibraries(), 1_000);
  starter.keep(first);
  starter.keep(second);
  starter.start();
  await until("the screener", () => stateOf(first) === screenerStates.running);
  assert.equal(stateOf(second), screenerStates.none);

  const without = createScreenerStarter(permittedLibraries(), 1_000);
  without.keep(null); // the worker has no way to the kernel
  without.keep(second);
  without.start();
  assert.ok(!without.isPossible);
  assert.ok(!createScreenerStarter([]).isPossible);
});

kernelTest("a screener can read and close what it was given, and holds no permission", async () => {
  const libraries = permittedLibraries();
  const asked = [
    "for (const name of ['read', 'write', 'net', 'env', 'run', 'ffi', 'sys', 'import'])",
    "  if (Deno.permissions.querySync({ name }).state === 'granted') throw new Error(name);",
    "try { Deno.dlopen(LIBRARY, {}); throw new Error('loaded again'); }",
    "catch (error) { postMessage(error.name); }",
  ].join("\n").replace("LIBRARY", JSON.stringify(libraries[0]));
  const none = { read: false, write: false, net: false, env: false, run: false, sys: false, import: false };
  const worker = new Worker(`${screenerModule(libraries, 1_000)};${encodeURIComponent(asked)}`, {
    type: "module",
    deno: { permissions: { ...none, ffi: libraries } },
  });
  const said = await new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(event.error ?? new Error(event.message));
  });
  worker.terminate();
  assert.equal(said, "NotCapable");
});
