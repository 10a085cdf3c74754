/**
 * Task records whose result is larger than one stored value: the result lies beside the record, in pieces that are
 * written before it and read with it.
 */
import * as z from "zod";
import { isObject } from "../lib/json.ts";
import { rpcErrorCode } from "./jsonrpc.ts";
import type { Put, Storage, StorageKey } from "../storage/port.ts";

/** So many characters of JSON have less than 524,288 bytes as a JSON string, whatever they are. */
const pieceCharacters = 150_000;
/** Results up to here stay in the record. */
const maxInlineCharacters = 100_000;
/** The largest result that is kept: what a tool may answer, escaped. */
export const maxTaskResultCharacters = 16_000_000;

const headShape = z.lazy(() => z.looseObject({ taskId: z.string(), resultPieces: z.int().min(1).optional() }));

type EntryStorage = Pick<Storage, "get" | "commit">;

/** The storage as tasks see it: records whole, however large their results are. */
export function withResultPieces(storage: EntryStorage): EntryStorage {
  return {
    async get(key) {
      const stored = await storage.get(key);
      const head = stored === null ? undefined : headShape.safeParse(stored.value).data;
      if (stored === null || head?.resultPieces === undefined) return stored;
      const { resultPieces, ...record } = head;
      const text = await readPieces(storage, head.taskId, resultPieces);
      return { ...stored, value: text === null ? lost(record) : { ...record, result: JSON.parse(text) } };
    },
    async commit(batch) {
      const puts = [];
      for (const put of batch.puts ?? []) puts.push(await storeResult(storage, put));
      return await storage.commit({ ...batch, puts });
    },
  };
}

/** Writes what does not fit into the record. A second attempt, or an instance that comes second, writes the same. */
async function storeResult(storage: EntryStorage, put: Put): Promise<Put> {
  const { value } = put;
  if (!isObject(value) || value["result"] === undefined) return put;
  const text = JSON.stringify(value["result"]);
  if (text.length <= maxInlineCharacters) return put;
  const { result: _, ...record } = value;
  const count = Math.ceil(text.length / pieceCharacters);
  for (let index = 0; index < count; index++) {
    const piece = text.slice(index * pieceCharacters, (index + 1) * pieceCharacters);
    await storage.commit({ puts: [{ ...put, key: pieceKey(String(record["taskId"]), index), value: piece }] });
  }
  return { ...put, value: { ...record, resultPieces: count } };
}

async function readPieces(storage: EntryStorage, taskId: string, count: number): Promise<string | null> {
  const pieces: string[] = [];
  for (let index = 0; index < count; index++) {
    const piece = z.string().safeParse((await storage.get(pieceKey(taskId, index)))?.value);
    if (!piece.success) return null; // it has just expired
    pieces.push(piece.data);
  }
  return pieces.join("");
}

function lost(record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return {
    ...record,
    status: "failed",
    error: { code: rpcErrorCode.internalError, message: "The result of the task has expired" },
  };
}

function pieceKey(taskId: string, index: number): StorageKey {
  return ["mcp_task_result", taskId, String(index)];
}
