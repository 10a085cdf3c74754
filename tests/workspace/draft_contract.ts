/** What the drafts of every workspace must do. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Draft, DraftOptions, Workspace } from "../../src/files/workspace/port.ts";
import { undoChange } from "../../src/files/text/undo.ts";
import {
  at,
  type ContractSettings,
  fillFile,
  type OpenWorkspace,
  reason,
  roomyTrash,
  text,
  value,
} from "./contract.ts";
import { makeChange, trashOf } from "./trash_contract.ts";

const content = new Uint8Array(1_000_003).map((_, index) => index % 251);
const sha256 = createHash("sha256").update(content).digest("hex");

export function testDraftContract(name: string, open: OpenWorkspace): void {
  const test = (
    what: string,
    body: (workspace: Workspace) => Promise<void>,
    settings: ContractSettings = {},
  ): void =>
    Deno.test(`${name}, drafts: ${what}`, async () => {
      const { workspace, dispose } = await open({ trash: roomyTrash, ...settings });
      try {
        await body(workspace);
      } finally {
        await dispose();
      }
    });

  test("a content that many requests bring is put in place as one change, which can be undone", async (workspace) => {
    await fillFile(workspace, "d/f", "old");
    let size = 0;
    for (const to of [1, 45_000, 45_001, 400_000, 999_999]) {
      const draft = await openDraft(workspace, "d/f", { isNew: size === 0 });
      assert.equal(draft.sizeBytes, size);
      value(await draft.append(content.subarray(size, to)));
      await draft.close();
      size = to;
      assert.equal(await text(workspace, "d/f"), "old");
    }
    const id = await makeChange(workspace, async (own) => {
      const draft = await openDraft(own, "d/f", {});
      value(await draft.append(content.subarray(size)));
      assert.deepEqual(value(await draft.place()), { sizeBytes: content.length, sha256, created: false });
      await draft.close();
    });
    const read = value(await workspace.read(at("d/f")));
    assert.deepEqual(Buffer.from(read.bytes).compare(content), 0);
    const change = await trashOf(workspace).find(id);
    assert.ok(change !== null);
    assert.ok((await undoChange({ ...workspace, trash: trashOf(workspace) }, change)).ok);
    assert.equal(await text(workspace, "d/f"), "old");
    assert.equal((await openDraft(workspace, "d/f", {})).sizeBytes, 0);
  });

  test("a draft that begins anew, is discarded or placed leaves nothing of what was there", async (workspace) => {
    for (const end of ["anew", "discard", "place"] as const) {
      const first = await openDraft(workspace, "f", { isNew: true });
      value(await first.append(content));
      if (end === "discard") await first.discard();
      else if (end === "place") value(await first.place());
      else await first.close();
      const second = await openDraft(workspace, "f", { isNew: end === "anew" });
      assert.equal(second.sizeBytes, 0, end);
      value(await second.append(new Uint8Array(3)));
      assert.equal(value(await second.place()).sizeBytes, 3);
    }
  });

  test("one request has a draft open: another is refused, or takes it over so that the first writes no more", async (workspace) => {
    const first = await openDraft(workspace, "f", { isNew: true });
    value(await first.append(content));
    const other = value(await workspace.openDraft(at("f"), { id: "draft", isNew: false }));
    if (other === null) {
      await first.close();
    } else {
      value(await other.append(content));
      const late = await first.append(content);
      const placed = late.ok ? await first.place() : late;
      assert.equal(placed.ok, false);
      await other.close();
    }
    assert.equal(reason(await workspace.stat(at("f"))), "not_found");
    assert.equal(value(await workspace.openDraft(at("f"), { id: "other", isNew: false }))?.sizeBytes, 0);
    assert.ok((await openDraft(workspace, "f", {})).sizeBytes >= content.length - 45_000 * 8);
  });

  test("what the file must be is judged at each opening and at the end", async (workspace) => {
    await fillFile(workspace, "f", "old");
    const ifMatch = createHash("sha256").update("old").digest("hex");
    const draft = await openDraft(workspace, "f", { ifMatch });
    const created = await openDraft(workspace, "n", { id: "n", mode: "create" });
    value(await draft.append(content));
    await fillFile(workspace, "f", "other");
    await fillFile(workspace, "n", "other");
    assert.equal(reason(await draft.place()), "conflict");
    assert.equal(reason(await created.place()), "already_exists");
    await draft.discard();
    await created.discard();
    assert.equal(reason(await workspace.openDraft(at("f"), { id: "draft", isNew: false, ifMatch })), "conflict");
    for (const name of ["f", "n"]) assert.equal(await text(workspace, name), "other");
    assert.equal((await openDraft(workspace, "f", {})).sizeBytes, 0);
  });

  test("a draft that is refused its place stays as it was, and can be put there later", async (workspace) => {
    await fillFile(workspace, "n", "other");
    for (const isKept of [false, true]) { // in one request, and in two
      const draft = await openDraft(workspace, "d/n", { isNew: !isKept, mode: "create" });
      if (!isKept) value(await draft.append(content));
      value(await draft.save());
      await fillFile(workspace, "d/n", "other");
      assert.equal(reason(await draft.place()), "already_exists");
      await draft.close();
      value(await workspace.remove(at("d/n")));
    }
    const draft = await openDraft(workspace, "d/n", { mode: "create" });
    assert.equal(draft.sizeBytes, content.length);
    assert.deepEqual(value(await draft.place()), { sizeBytes: content.length, sha256, created: true });
    assert.equal((await openDraft(workspace, "d/n", {})).sizeBytes, 0);
  });

  test(
    "drafts count against the quota, also those that wait, until they are gone",
    async (workspace) => {
      const waiting = await openDraft(workspace, "f", { id: "waits" });
      value(await waiting.append(content));
      await waiting.close();
      const draft = await openDraft(workspace, "g", {});
      assert.equal(reason(await draft.append(content)), "quota");
      await draft.discard();
      await (await openDraft(workspace, "f", { id: "waits" })).discard();
      const again = await openDraft(workspace, "g", {});
      value(await again.append(content));
      assert.equal(value(await again.place()).created, true);
    },
    { limits: { maxTotalBytes: 1_500_000 } },
  );

  let ahead = 0;
  test(
    "what no request comes for is swept, and of too many the oldest",
    async (workspace) => {
      for (const id of ["a", "b", "c"]) {
        const draft = await openDraft(workspace, "f", { id });
        value(await draft.append(content));
        await draft.close();
        ahead += 10; // for the store; a disk's own times are as fine
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      const sizes = async (): Promise<boolean[]> => {
        const found: boolean[] = [];
        for (const id of ["a", "b", "c"]) {
          const draft = await openDraft(workspace, "f", { id });
          found.push(draft.sizeBytes > 0);
          await (draft.sizeBytes > 0 ? draft.close() : draft.discard());
        }
        return found;
      };
      await workspace.sweepDrafts(Date.now() + ahead);
      assert.deepEqual(await sizes(), [false, true, true]);
      ahead += 2_000_000;
      await workspace.sweepDrafts(Date.now() + ahead);
      assert.deepEqual(await sizes(), [false, false, false]);
    },
    { limits: { maxDrafts: 2 }, clock: () => Date.now() + ahead },
  );
}

async function openDraft(workspace: Workspace, path: string, options: Partial<DraftOptions>): Promise<Draft> {
  const draft = value(await workspace.openDraft(at(path), { id: "draft", isNew: false, ...options }));
  assert.ok(draft !== null, "it is open elsewhere");
  return draft;
}
