/** The thread that reads documents has no right, and is ended where it takes too long or too much. */
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { createDocuments } from "../../src/files/documents/reading.ts";
import { success } from "../../src/lib/result.ts";
import { makePdf, makePdfBomb } from "../fixtures/pdf.ts";

const tooMuch = "it takes more time or memory to read than a document may";

/** In place of our readers: what a library would do that an attacker has taken over, or that never ends. */
const hostileThread = `// @ts-nocheck
import { parentPort } from "node:worker_threads";
Deno.permissions.revokeSync({ name: "read" });
const tries = {
  read: () => Deno.readTextFile("/etc/hostname"),
  module: () => Deno.readTextFile(new URL(import.meta.url)),
  write: () => Deno.writeTextFile(new URL("./made", import.meta.url), "x"),
  fetch: () => fetch("http://127.0.0.1:1/"),
  connect: () => Deno.connect({ port: 1 }),
  environment: async () => Deno.env.get("HOME"),
  run: () => new Deno.Command(Deno.execPath()).output(),
  import: () => import(new URL("./holder.ts", import.meta.url).href + "?again"),
  ask: async () => Deno.permissions.requestSync({ name: "read" }).state === "granted" ? "granted" : Promise.reject(Error("no")),
};
const acts = {
  hang: () => { for (;;); },
  heap: () => { const kept = []; for (let i = 0;; i++) kept.push({ i, text: "x".repeat(10) + i }); },
  deep: () => { const dig = (n) => [dig(n + 1)]; return dig(0); },
  fine: () => "fine",
  spoil: () => { isSpoiled = true; return "spoil"; },
};
let isSpoiled = false;
parentPort.on("message", async ({ bytes }) => {
  if (isSpoiled) return void setTimeout(() => { throw Error("spoiled"); });
  const asked = new TextDecoder().decode(bytes);
  let text = "";
  try {
    text = asked === "rights"
      ? (await Promise.all(Object.entries(tries).map(([name, act]) => Promise.resolve().then(act).then(() => name + " ", () => "")))).join("")
      : acts[asked]();
    parentPort.postMessage({ document: { kind: "x", summary: "", remarks: [], parts: [{ name: "", text }] } });
  } catch {
    parentPort.postMessage({ refused: "it is damaged" });
  }
});
parentPort.postMessage("ready");
`;

Deno.test("what runs in the thread has no right; one that hangs, or takes all memory, ends alone, and the next is read", async () => {
  const directory = await Deno.makeTempDir();
  const source = new URL("../../src/files/documents/holder.ts", import.meta.url);
  await Deno.copyFile(source, `${directory}/holder.ts`);
  await Deno.writeTextFile(`${directory}/thread.ts`, hostileThread);
  const place = pathToFileURL(`${directory}/`);
  const modules = () => ({ holder: new URL("holder.ts", place), directory: place });
  const [patient, hasty] = [createDocuments({ modules }), createDocuments({ modules, readingMs: 4_000 })];
  const read = async (asked: string, documents = patient): Promise<string> => {
    const bytes = new TextEncoder().encode(asked);
    const load = () => Promise.resolve(success({ bytes: bytes.slice(), sha256: "" }));
    const outcome = await documents.read("a.pdf", { version: `${asked}${Math.random()}`, caller: asked, load });
    return outcome.ok ? outcome.value.document.parts[0]?.text ?? "" : outcome.error;
  };
  try {
    assert.equal(await read("rights"), "", "nothing of it is granted");
    assert.equal(await read("hang", hasty), tooMuch);
    assert.equal(await read("fine"), "fine");
    assert.equal(await read("heap", hasty), tooMuch);
    assert.equal(await read("deep"), "it is damaged");
    assert.equal(await read("fine"), "fine");
    assert.deepEqual([await read("spoil"), await read("fine")], ["spoil", "fine"]);
    const waiting = Array.from({ length: 6 }, () => read("fine"));
    const answers = await Promise.all(waiting);
    assert.equal(
      answers.filter((answer) => answer.startsWith("it waits behind")).length,
      2,
      "one caller has four places",
    );
  } finally {
    patient.close();
    hasty.close();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("a PDF that unpacks without end costs no more memory than its bounds, and the next is read", async () => {
  const documents = createDocuments({ readingMs: 120_000 }); // seconds, and many on a busy machine
  const read = async (bytes: Uint8Array<ArrayBuffer>) => {
    const load = () => Promise.resolve(success({ bytes, sha256: "" }));
    const outcome = await documents.read("a.pdf", { version: String(Math.random()), caller: "a", load });
    return outcome.ok ? outcome.value.document.parts[0]?.text ?? "" : outcome.error;
  };
  const bombs = [makePdfBomb(256 * 1024 * 1024), makePdfBomb(256 * 1024 * 1024, 2)];
  let most = 0;
  try {
    assert.equal(await read(makePdf([["first"]])), "first");
    const before = Deno.memoryUsage().rss;
    const watch = setInterval(() => most = Math.max(most, Deno.memoryUsage().rss - before), 20);
    for (const bomb of bombs) assert.match(await read(bomb), /too large when unpacked/);
    clearInterval(watch);
    assert.equal(await read(makePdf([["last"]])), "last");
  } finally {
    documents.close();
  }
  assert.ok(most < 400e6, `the process grew by ${Math.round(most / 1e6)} MB`);
});

Deno.test("what a damaged document leaves behind in the thread ends the reading of no other one", async () => {
  const documents = createDocuments();
  // pdf.js drops a promise that fails, and a thread ends by that
  const damaged = new TextEncoder().encode(
    "%PDF-1.7\n1 0 obj<<///Pages 2 0R\n2 0 obj<</Kids[1 11 0R]/Count 5>>11 0 obj<<endobj\ntrailer<</Root 1 0R",
  );
  const read = async (bytes: Uint8Array<ArrayBuffer>) => {
    const load = () => Promise.resolve(success({ bytes: bytes.slice(), sha256: "" }));
    const outcome = await documents.read("a.pdf", { version: crypto.randomUUID(), caller: "a", load });
    return outcome.ok ? outcome.value.document.parts[0]?.text : outcome.error;
  };
  try {
    for (let time = 0; time < 3; time++) {
      await read(damaged);
      assert.equal(await read(makePdf([["words"]])), "words");
    }
  } finally {
    documents.close();
  }
});

Deno.test("where no thread can be started, documents are refused by that, and tried again", async () => {
  const directory = await Deno.makeTempDir();
  const place = pathToFileURL(`${directory}/`);
  const documents = createDocuments({ modules: () => ({ holder: new URL("holder.ts", place), directory: place }) });
  const load = () => Promise.resolve(success({ bytes: makePdf([["words"]]), sha256: "" }));
  try {
    for (let time = 0; time < 2; time++) {
      const read = await documents.read("a.pdf", { version: "1", caller: "ada", load });
      assert.match(read.ok ? "" : read.error, /these need a thread, which this server may not start/);
    }
  } finally {
    documents.close();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("what took too long is not tried again while it is the same, and another version of it is", async () => {
  const documents = createDocuments({ readingMs: 1 });
  let loads = 0;
  const load = () => Promise.resolve(success({ bytes: makePdf([["words"]]), sha256: String(loads++) }));
  try {
    for (const version of ["1", "1", "2", "1"]) {
      const read = await documents.read("a.pdf", { version, caller: "ada", load });
      assert.equal(read.ok ? "" : read.error, tooMuch);
    }
    assert.equal(loads, 2);
  } finally {
    documents.close();
  }
});

Deno.test("a thread that starts late costs no document its time, and one that never starts is told", async () => {
  const directory = await Deno.makeTempDir();
  await Deno.writeTextFile(
    `${directory}/holder.ts`,
    `globalThis.onmessage = () => globalThis.postMessage({ document: { kind: "pdf", remarks: [], parts: [] } });
    setTimeout(() => globalThis.postMessage("ready"), 3_500);`,
  );
  await Deno.writeTextFile(`${directory}/silent.ts`, "globalThis.onmessage = () => {};");
  const place = pathToFileURL(`${directory}/`);
  const started = (name: string, bounds: { readingMs?: number; startingMs?: number }) =>
    createDocuments({ modules: () => ({ holder: new URL(name, place), directory: place }), ...bounds });
  const load = () => Promise.resolve(success({ bytes: makePdf([["words"]]), sha256: "" }));
  const late = started("holder.ts", { readingMs: 3_000 });
  const silent = started("silent.ts", { startingMs: 500 });
  try {
    const read = await late.read("a.pdf", { version: "1", caller: "ada", load });
    assert.ok(read.ok, read.ok ? "" : read.error);
    for (let time = 0; time < 2; time++) {
      const never = await silent.read("a.pdf", { version: "1", caller: "ada", load });
      assert.match(never.ok ? "" : never.error, /did not start in time, so try again/);
    }
  } finally {
    late.close();
    silent.close();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("callers take turns at the thread, whichever has more documents waiting", async () => {
  const documents = createDocuments();
  const order: string[] = [];
  const read = (caller: string, version: string) =>
    documents.read(`${version}.pdf`, {
      ...{ version, caller },
      load: () => Promise.resolve(success({ bytes: makePdf([[version]]), sha256: version })),
    }).then(({ ok }) => order.push(ok ? version : "refused"));
  try {
    const all = [..."1234"].map((number) => read("ada", `a${number}`));
    await Promise.all([...all, read("ben", "b1"), read("ben", "b2"), read("cy", "c1")]);
    assert.deepEqual(order, ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
  } finally {
    documents.close();
  }
});

Deno.test("a document whose caller has gone while it waited is not read, and the others are", async () => {
  const documents = createDocuments();
  const gone = new AbortController();
  const loaded: string[] = [];
  const read = async (caller: string, signal = new AbortController().signal) => {
    const load = () => {
      loaded.push(caller);
      return Promise.resolve(success({ bytes: makePdf([[caller]]), sha256: caller }));
    };
    return (await documents.read("a.pdf", { version: caller, caller, work: { signal }, load })).ok;
  };
  try {
    const all = [read("ada"), read("ben", gone.signal), read("cy")];
    gone.abort();
    assert.deepEqual(await Promise.all(all), [true, false, true]);
    assert.deepEqual(loaded, ["ada", "cy"]);
  } finally {
    documents.close();
  }
});
