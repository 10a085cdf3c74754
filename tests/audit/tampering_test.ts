import assert from "node:assert/strict";
import {
  type AuditBatch,
  auditHeads,
  auditLineEnd,
  batchesKey,
  batchesOf,
  batchKey,
  type Chain,
  chainKey,
  hashBatch,
  headText,
  type KeptHead,
  parseChain,
  parseHead,
  resealAuditChains,
  trimAudit,
  verifyAudit,
} from "../../src/audit/chain.ts";
import { emptyLine } from "../../src/audit/recorder.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import type { Storage } from "../../src/storage/port.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";
import { auditPlace, secrets } from "./audit_place.ts";

interface Written {
  readonly storage: Storage;
  /** The batch with this number. */
  readonly batch: (seq: number) => AuditBatch;
  /** The numbers of all that are there, oldest first. */
  readonly seqs: readonly number[];
  readonly head: Chain;
  /** The state before the last ten batches. */
  readonly earlier: Chain;
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** 100 batches of three lines; retention has removed the first 40. */
async function writeAudit(): Promise<Written> {
  const storage = createMemoryStorage();
  const place = auditPlace(storage);
  const recorder = place.recorder();
  const write = async (first: number, count: number): Promise<void> => {
    for (const at of numbers(count)) {
      for (const line of ["a", "b"]) {
        recorder.record({ ...lineAt(first + at, line), time: place.parts.clock() });
      }
      await place.write(recorder, [lineAt(first + at, "c")]);
    }
  };
  const lineAt = (at: number, name: string) => ({ ...emptyLine, event: "call", outcome: "ok", target: `${at}${name}` });
  await write(0, 40);
  await trimAudit(place.parts, { keepMs: 60_000, maxBytes: 0, now: place.parts.clock() });
  await write(40, 50);
  const earlier = await headOf(storage);
  await write(90, 10);
  const batches = new Map<number, AuditBatch>();
  for await (const { seq, batch } of batchesOf(storage, "1")) batches.set(seq, batch ?? assert.fail());
  const batch = (seq: number): AuditBatch => batches.get(seq) ?? assert.fail();
  return { storage, batch, seqs: [...batches.keys()].reverse(), head: await headOf(storage), earlier };
}

async function headOf(storage: Storage): Promise<Chain> {
  return parseChain((await storage.get(chainKey("1")))?.value) ?? assert.fail();
}

const keyOf = (seq: number) => batchKey("1", seq);
const put = async (storage: Storage, seq: number, batch: AuditBatch): Promise<void> =>
  void await storage.commit({ puts: [{ key: keyOf(seq), value: batch }] });
const withLines = (batch: AuditBatch, change: (lines: string[]) => string[]): AuditBatch => ({
  ...batch,
  lines: change(batch.lines.split(auditLineEnd).slice(0, -1)).map((line) => line + auditLineEnd).join(""),
});
const changeLines = async ({ storage, batch }: Written, change: (lines: string[]) => string[]): Promise<void> =>
  await put(storage, 44, withLines(batch(44), change));

type Tamper = (written: Written) => Promise<unknown>;

/** What someone who can write to the database does, and what `verify` says of it. */
const attacks: readonly (readonly [name: string, tamper: Tamper, said: RegExp])[] = [
  [
    "a line is changed",
    (written) => changeLines(written, (lines) => lines.with(0, lines[0]?.replace("ok", "no") ?? "")),
    /batch 44 was changed/,
  ],
  ["a line is removed", (written) => changeLines(written, (lines) => lines.slice(1)), /batch 44 was changed/],
  [
    "a line is added",
    (written) => changeLines(written, (lines) => [...lines, lines[0] ?? ""]),
    /batch 44 was changed/,
  ],
  ["two lines change places", (written) => changeLines(written, (lines) => lines.toReversed()), /batch 44 was changed/],
  ["a batch gets another time", async ({ storage, batch }) => {
    await put(storage, 46, { ...batch(46), from: batch(46).from - 1 });
  }, /batch 46 was changed/],
  ["two batches change places", async ({ storage, batch }) => {
    await put(storage, 44, batch(45));
    await put(storage, 45, batch(44));
  }, /batch 45 was changed/],
  ["a batch is removed", async ({ storage }) => {
    await storage.commit({ deletes: [keyOf(44)] });
  }, /batch 44 is gone/],
  ["the oldest batches are removed", async ({ storage, seqs }) => {
    await storage.commit({ deletes: seqs.slice(0, 40).map(keyOf) });
  }, /batches 41 to 80 are gone/],
  ["the last batch before the end is removed", async ({ storage }) => {
    await storage.commit({ deletes: [keyOf(99)] });
  }, /batch 99 is gone/],
  ["the newest batch is removed", async ({ storage }) => {
    await storage.commit({ deletes: [keyOf(100)] });
  }, /batch 100 is gone/],
  ["every batch is removed", async ({ storage, seqs }) => {
    await storage.commit({ deletes: seqs.map(keyOf) });
  }, /batches 41 to 100 are gone/],
  ["a batch is made unreadable", async ({ storage }) => {
    await storage.commit({ puts: [{ key: keyOf(60), value: { from: "x" } }] });
  }, /near batch 60 cannot be read/],
  ["an entry with a key of no batch is added", async ({ storage, batch }) => {
    await storage.commit({ puts: [{ key: ["audit", "1", "9999999999950x"], value: batch(44) }] });
  }, /cannot be read/],
  ["a batch is added after the end", async ({ storage, batch }) => {
    await put(storage, 101, { ...batch(100), from: batch(100).from + 1 });
  }, /batch 101 was added after the end/],
  ["a batch is added after the end, behind a key of no batch", async ({ storage, batch }) => {
    await put(storage, 101, { ...batch(100), from: batch(100).from + 1 });
    await storage.commit({ puts: [{ key: ["audit", "1", "0"], value: batch(44) }] });
  }, /added after the end/],
  ["a batch is there twice", async ({ storage, batch }) => await put(storage, 44, batch(45)), /batch 44 was changed/],
  ["a batch is cut in the middle of a line", async ({ storage, batch }) => {
    await put(storage, 44, { ...batch(44), lines: batch(44).lines.slice(0, -9) });
  }, /batch 44 was changed/],
  ["a batch is emptied", async ({ storage, batch }) => {
    await put(storage, 100, { ...batch(100), lines: "" });
  }, /batch 100 was changed/],
  ["lines move into what names the batch before", async ({ storage, batch }) => {
    const { prev, lines } = batch(44);
    const [first = "", ...others] = lines.split("\n");
    await put(storage, 44, { ...batch(44), prev: `${prev}\n${first}`, lines: others.join("\n") });
  }, /batch 4[34] was changed/],
  ["the oldest batch is one that retention removed", async ({ storage, batch }) => {
    await put(storage, 40, { ...batch(41), from: batch(41).from - 1 });
  }, /batch 41 does not follow|batch 40 was changed/],
  ["the head of the last chain is removed, its batches not", async ({ storage, batch }) => {
    for (const name of ["2", "10"]) {
      await storage.commit({ puts: [{ key: batchKey(name, 1), value: batch(44) }] });
    }
  }, /chain 10: its head is gone[^]*chain 2: its head is gone/],
  ["everything is hashed anew", async ({ storage, batch, seqs, head }) => {
    let prev = head.removed?.hash ?? "";
    for (const seq of seqs) {
      const next = { ...batch(seq), prev, lines: batch(seq).lines.replaceAll("ok", "no") };
      prev = await hashBatch("1", seq, next);
      await put(storage, seq, next);
    }
    await storage.commit({ puts: [{ key: chainKey("1"), value: { ...head, hash: prev } }] });
  }, /its head or checkpoint was changed/],
  ["the checkpoint is moved over lines that are there no more", async ({ storage, batch, head }) => {
    const removed = { ...head.removed, seq: 41, hash: await hashBatch("1", 41, batch(41)) };
    await storage.commit({ puts: [{ key: chainKey("1"), value: { ...head, removed } }], deletes: [keyOf(41)] });
  }, /its head or checkpoint was changed/],
  ...(["bytes", "lines", "from"] as const).map((name) =>
    [`the head's ${name} are changed, which retention would act on`, async ({ storage, head }: Written) => {
      await storage.commit({ puts: [{ key: chainKey("1"), value: { ...head, [name]: head[name] + 1e12 } }] });
      const place = auditPlace(storage);
      await trimAudit(place.parts, { keepMs: 1e12, maxBytes: 1e9, now: place.parts.clock() });
      assert.equal((await storage.list(batchesKey("1"), { limit: 100 })).length, 60, "nothing was removed for it");
    }, /its head or checkpoint was changed/] as const
  ),
  ["a chain with a name of no chain is added, and one is removed", async ({ storage, head }) => {
    for (const name of ["evil", "NaN", "1e9", "99999"]) {
      await storage.commit({ puts: [{ key: chainKey(name), value: head }] });
    }
    await storage.commit({ puts: [{ key: chainKey("3"), value: head }] });
  }, /chain 2 is gone/],
  ["the chain's head is made unreadable", async ({ storage }) => {
    await storage.commit({ puts: [{ key: chainKey("1"), value: {} }] });
  }, /its head cannot be read/],
];

for (const [name, tamper, said] of attacks) {
  Deno.test(`audit verify finds that ${name}`, async () => {
    const written = await writeAudit();
    assert.deepEqual((await verifyAudit({ storage: written.storage, secrets })).problems, []);
    await tamper(written);
    const { problems } = await verifyAudit({ storage: written.storage, secrets });
    assert.match(problems.join("\n"), said);
  });
}

Deno.test("audit verify finds that the mark of a clock set back was changed", async () => {
  const storage = createMemoryStorage();
  const place = auditPlace(storage);
  const recorder = place.recorder();
  for (const minutes of [0, 60, 5]) {
    recorder.record({ ...emptyLine, time: place.parts.clock() + minutes * 60_000, event: "call" });
    await recorder.flush();
  }
  await recorder.close();
  const head = await headOf(storage);
  assert.equal(head.setBack, 3);
  const { setBack: _, ...unmarked } = head;
  const heads = [[head, true], [unmarked, false], [{ ...head, setBack: 1 }, false]] as const;
  for (const [value, isGood] of heads) {
    await storage.commit({ puts: [{ key: chainKey("1"), value }] });
    const { problems } = await verifyAudit({ storage, secrets });
    assert.deepEqual(problems, isGood ? [] : ["chain 1: its head or checkpoint was changed"]);
  }
});

/** What only a head that was kept elsewhere shows. */
const cuts: readonly (readonly [name: string, tamper: Tamper, said: RegExp])[] = [
  ["an earlier state with its head is put back", async ({ storage, seqs, earlier }) => {
    const later = seqs.filter((seq) => seq > earlier.seq);
    await storage.commit({ puts: [{ key: chainKey("1"), value: earlier }], deletes: later.map(keyOf) });
  }, /batches 91 to 100 are gone from its end/],
  ["the whole audit is deleted", async ({ storage, seqs }) => {
    await storage.commit({ deletes: [chainKey("1"), ...seqs.map(keyOf)] });
  }, /chain 1 is gone/],
];

for (const [name, tamper, said] of cuts) {
  Deno.test(`audit verify finds with a kept head that ${name}`, async () => {
    const written = await writeAudit();
    const [kept = assert.fail()] = await auditHeads(written.storage);
    await tamper(written);
    assert.deepEqual((await verifyAudit({ storage: written.storage, secrets })).problems, []);
    assert.match((await verifyAudit({ storage: written.storage, secrets }, [kept])).problems.join(), said);
  });
}

Deno.test("audit verify says that retention has removed what a kept head names", async () => {
  const { storage } = await writeAudit();
  const old: KeptHead = { chain: "1", seq: 12, hash: "x".repeat(43) };
  const { problems, notes } = await verifyAudit({ storage, secrets }, [old]);
  assert.deepEqual(problems, []);
  assert.match(notes.join(), /retention has removed batch 12/);
});

Deno.test("audit verify refuses a kept head of another history", async () => {
  const { storage } = await writeAudit();
  const { problems } = await verifyAudit({ storage, secrets }, [{ chain: "1", seq: 77, hash: "x".repeat(43) }]);
  assert.match(problems.join(), /batch 77 is not the one that the kept head names/);
});

Deno.test("retention signs no checkpoint for lines that were changed before without saying so", async () => {
  const written = await writeAudit();
  await changeLines(written, (lines) => lines.slice(1));
  const place = auditPlace(written.storage);
  place.advance(10_000_000);
  await trimAudit(place.parts, { keepMs: 60_000, maxBytes: 1e9, now: place.parts.clock() });
  assert.deepEqual(place.logged.map(({ event }) => event), ["audit_chain_changed"]);
  const { problems } = await verifyAudit({ storage: written.storage, secrets });
  assert.match(problems.join(), /had been changed before retention/);
});

Deno.test("retention passes over batches that are gone, says so, and goes on", async () => {
  for (const gone of [[41], [50, 51], Array.from({ length: 60 }, (_, at) => 41 + at)]) {
    const { storage } = await writeAudit();
    await storage.commit({ deletes: gone.map(keyOf) });
    const place = auditPlace(storage);
    place.advance(10_000_000);
    await trimAudit(place.parts, { keepMs: 60_000, maxBytes: 1e9, now: place.parts.clock() });
    assert.deepEqual(place.logged.map(({ event }) => event), ["audit_chain_changed"]);
    const { problems } = await verifyAudit({ storage, secrets });
    assert.match(problems.join("\n"), /batches up to 100 had been changed before retention/);
    const { seq, bytes, lines } = await headOf(storage);
    assert.deepEqual([seq, bytes], [100, 0], String(lines));
    await place.write(place.recorder(), [{ target: "later" }]);
    assert.equal((await place.search()).length, 1);
  }
});

Deno.test("an entry with a key of no batch keeps neither a search nor retention from their end", async () => {
  const { storage, batch } = await writeAudit();
  for (const part of ["9999999999950x", "NaN", "0", "99999999999500"]) {
    await storage.commit({ puts: [{ key: ["audit", "1", part], value: batch(44) }] });
  }
  const place = auditPlace(storage);
  assert.equal((await place.search({}, 7)).length, 180);
  place.advance(10_000_000);
  await trimAudit(place.parts, { keepMs: 60_000, maxBytes: 1e9, now: place.parts.clock() });
  assert.deepEqual(await place.search(), []);
  assert.equal((await headOf(storage)).removed?.seq, 100);
  assert.match((await verifyAudit({ storage, secrets })).problems.join("\n"), /cannot be read/);
});

Deno.test("a chain that was changed is left as it is, and another one begins", async () => {
  const { storage, head } = await writeAudit();
  await storage.commit({ puts: [{ key: chainKey("1"), value: { ...head, holder: null, lines: 3, seq: 5 } }] });
  const place = auditPlace(storage);
  await place.write(place.recorder("next"), [{ target: "later" }]);
  assert.equal((await place.search({ target: ["later"] }))[0]?.instance, "2");
  assert.ok(place.logged.some(({ event }) => event === "audit_chain_changed"));
});

Deno.test("chains with names of no chain do not keep lines from being stored", async () => {
  const { storage, head } = await writeAudit();
  for (const name of ["evil", "NaN", "99999", "1000.5"]) {
    await storage.commit({ puts: [{ key: chainKey(name), value: { ...head, holder: null } }] });
  }
  const place = auditPlace(storage);
  await place.write(place.recorder("next"), [{ target: "later" }]);
  assert.equal((await place.search({ target: ["later"] }))[0]?.instance, "2");
});

Deno.test("a head is printed and read again as one text", async () => {
  const { storage } = await writeAudit();
  const heads = await auditHeads(storage);
  assert.deepEqual(heads.map(headText).map(parseHead), heads);
  for (const text of ["", "1:2", "1:2:short", "x:2:" + "a".repeat(43), "1:2:" + "?".repeat(43)]) {
    assert.equal(parseHead(text), null, text);
  }
});

Deno.test("the chain is verified under a new master key after its rotation, and a changed one stays so", async () => {
  const { storage } = await writeAudit();
  const next = createSecretBox(new Uint8Array(32).fill(9));
  assert.match((await verifyAudit({ storage, secrets: next })).problems.join(), /head or checkpoint was changed/);
  await resealAuditChains(storage, { from: secrets, to: next });
  await resealAuditChains(storage, { from: secrets, to: next });
  assert.deepEqual((await verifyAudit({ storage, secrets: next })).problems, []);
  await storage.commit({ puts: [{ key: chainKey("1"), value: { ...await headOf(storage), seq: 98 } }] });
  await resealAuditChains(storage, { from: next, to: secrets });
  assert.match((await verifyAudit({ storage, secrets })).problems.join(), /head or checkpoint was changed/);
});
