import assert from "node:assert/strict";
import {
  type AuditBatch,
  type Chain,
  chainKey,
  hashBatch,
  parseChain,
  parseSegment,
  resealAuditChains,
  type Segment,
  segmentKey,
  segmentsKey,
} from "../../src/audit/chain.ts";
import { auditLineEnd, emptyLine } from "../../src/audit/line.ts";
import { trimAudit } from "../../src/audit/retention.ts";
import { auditHeads, headText, type KeptHead, parseHead, verifyAudit } from "../../src/audit/verify.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import type { Storage } from "../../src/storage/port.ts";
import { createMemoryStorage } from "../mcp/memory_storage.ts";
import { auditPlace, secrets } from "./audit_place.ts";

interface Written {
  readonly storage: Storage;
  /** Oldest first. */
  readonly segments: Segment[];
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
  const entries = await storage.list(segmentsKey("1"), { limit: 100 });
  const segments = entries.map(({ value }) => parseSegment(value) ?? assert.fail()).reverse();
  return { storage, segments, head: await headOf(storage), earlier };
}

async function headOf(storage: Storage): Promise<Chain> {
  return parseChain((await storage.get(chainKey("1")))?.value) ?? assert.fail();
}

const keyOf = ({ batches }: Segment) => segmentKey("1", batches[0]?.from ?? assert.fail());
const put = async (storage: Storage, segment: Segment, at = keyOf(segment)): Promise<void> =>
  void await storage.commit({ puts: [{ key: at, value: segment }] });
const withBatches = (segment: Segment, batches: Segment["batches"]): Segment => ({ ...segment, batches });
const withLines = (segment: Segment, index: number, change: (lines: string[]) => string[]): Segment =>
  withBatches(
    segment,
    segment.batches.map((batch, at) =>
      at !== index ? batch : {
        ...batch,
        lines: change(batch.lines.split(auditLineEnd).slice(0, -1)).map((line) => line + auditLineEnd).join(""),
      }
    ),
  );

type Tamper = (written: Written) => Promise<unknown>;
const first = ({ segments }: Written): Segment => segments[0] ?? assert.fail();

/** What someone who can write to the database does, and what `verify` says of it. */
const attacks: readonly (readonly [name: string, tamper: Tamper, said: RegExp])[] = [
  ["a line is changed", async (written) => {
    await put(
      written.storage,
      withLines(first(written), 3, (lines) => lines.with(0, lines[0]?.replace("ok", "no") ?? "")),
    );
  }, /batch 44 was changed/],
  ["a line is removed", async (written) => {
    await put(written.storage, withLines(first(written), 3, (lines) => lines.slice(1)));
  }, /batch 44 was changed/],
  ["a line is added", async (written) => {
    await put(written.storage, withLines(first(written), 3, (lines) => [...lines, lines[0] ?? ""]));
  }, /batch 44 was changed/],
  ["two lines change places", async (written) => {
    await put(written.storage, withLines(first(written), 3, (lines) => lines.toReversed()));
  }, /batch 44 was changed/],
  ["a batch gets another time", async (written) => {
    const { batches } = first(written);
    await put(
      written.storage,
      withBatches(first(written), batches.map((batch, at) => at === 5 ? { ...batch, from: batch.from - 1 } : batch)),
    );
  }, /batch 46 was changed/],
  ["a batch in the middle of an entry is removed", async (written) => {
    await put(written.storage, withBatches(first(written), first(written).batches.toSpliced(3, 1)));
  }, /batch \d+ (was changed|is gone)/],
  ["two batches change places", async (written) => {
    const { batches } = first(written);
    const [a, b] = [batches[3] ?? assert.fail(), batches[4] ?? assert.fail()];
    await put(written.storage, withBatches(first(written), batches.with(3, b).with(4, a)));
  }, /batch 45 was changed/],
  ["an entry is removed", async (written) => {
    await written.storage.commit({ deletes: [keyOf(first(written))] });
  }, /batches 41 to 80 are gone/],
  ["the last batch before the end is removed", async (written) => {
    await written.storage.commit({ deletes: [keyOf(written.segments.at(-2) ?? assert.fail())] });
  }, /batch 99 is gone/],
  ["the newest batch is removed", async (written) => {
    await written.storage.commit({ deletes: [keyOf(written.segments.at(-1) ?? assert.fail())] });
  }, /batch 100 is gone/],
  ["every entry is removed", async (written) => {
    await written.storage.commit({ deletes: written.segments.map(keyOf) });
  }, /batches 41 to 100 are gone/],
  ["two entries change places", async (written) => {
    const [a, b] = [written.segments.at(-1) ?? assert.fail(), written.segments.at(-2) ?? assert.fail()];
    await put(written.storage, a, keyOf(b));
    await put(written.storage, b, keyOf(a));
  }, /batch 100 is gone/],
  ["an entry is made unreadable", async ({ storage, segments }) => {
    await storage.commit({ puts: [{ key: keyOf(segments[0] ?? assert.fail()), value: { seq: "x" } }] });
  }, /cannot be read/],
  ["a batch is added after the end", async ({ storage, segments }) => {
    const last = segments.at(-1) ?? assert.fail();
    const batches = last.batches.map((batch) => ({ ...batch, from: batch.from + 1 }));
    await put(storage, { seq: last.seq + 1, batches });
  }, /batch 101 was added after the end/],
  ["everything is hashed anew", async (written) => {
    let prev = written.head.removed?.hash ?? "";
    let hash = prev;
    for (const segment of written.segments) {
      const batches: AuditBatch[] = [];
      for (const [index, batch] of segment.batches.entries()) {
        const next = { ...batch, prev, lines: batch.lines.replaceAll("ok", "no") };
        prev = hash = await hashBatch("1", segment.seq + index, next);
        batches.push(next);
      }
      await put(written.storage, withBatches(segment, batches));
    }
    await written.storage.commit({ puts: [{ key: chainKey("1"), value: { ...written.head, hash } }] });
  }, /its head or checkpoint was changed/],
  ["the checkpoint is moved over lines that are there no more", async (written) => {
    const segment = first(written);
    const { removed } = written.head;
    const seq = segment.seq + segment.batches.length - 1;
    const hash = await hashBatch("1", seq, segment.batches.at(-1) ?? assert.fail());
    await written.storage.commit({
      puts: [{ key: chainKey("1"), value: { ...written.head, removed: { ...removed, seq, hash } } }],
      deletes: [keyOf(segment)],
    });
  }, /its head or checkpoint was changed/],
  ...(["bytes", "lines", "from"] as const).map((name) =>
    [`the head's ${name} are changed, which retention would act on`, async ({ storage, head }: Written) => {
      await storage.commit({ puts: [{ key: chainKey("1"), value: { ...head, [name]: head[name] + 1e12 } }] });
      const place = auditPlace(storage);
      await trimAudit(place.parts, { keepMs: 1e12, maxBytes: 1e9, now: place.parts.clock() });
      assert.equal((await storage.list(segmentsKey("1"), { limit: 100 })).length, 21, "nothing was removed for it");
    }, /its head or checkpoint was changed/] as const
  ),
  ["the count of a batch's lines is changed", async (written) => {
    const segment = first(written);
    const batches = segment.batches.map((batch) => ({ ...batch, count: 1_000_000, lines: batch.lines + auditLineEnd }));
    await put(written.storage, withBatches(segment, batches));
  }, /batch 80 was changed/],
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

/** What only a head that was kept elsewhere shows. */
const cuts: readonly (readonly [name: string, tamper: Tamper, said: RegExp])[] = [
  ["an earlier state with its head is put back", async ({ storage, segments, earlier }) => {
    const later = segments.filter(({ seq }) => seq > earlier.seq);
    await storage.commit({ puts: [{ key: chainKey("1"), value: earlier }], deletes: later.map(keyOf) });
  }, /batches 91 to 100 are gone from its end/],
  ["the whole audit is deleted", async ({ storage, segments }) => {
    await storage.commit({ deletes: [chainKey("1"), ...segments.map(keyOf)] });
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
  await put(written.storage, withLines(first(written), 3, (lines) => lines.slice(1)));
  const place = auditPlace(written.storage);
  place.advance(10_000_000);
  await trimAudit(place.parts, { keepMs: 60_000, maxBytes: 1e9, now: place.parts.clock() });
  assert.deepEqual(place.logged.map(({ event }) => event), ["audit_chain_changed"]);
  const { problems } = await verifyAudit({ storage: written.storage, secrets });
  assert.match(problems.join(), /had been changed before retention/);
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
