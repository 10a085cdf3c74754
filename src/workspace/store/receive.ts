/** Receives a file of the store-backed workspace that arrives in pieces, which are staged as they come. */
import { failure, type Result, success } from "../../lib/result.ts";
import type { WorkspacePath } from "../path.ts";
import { type ArrivingContent, maxArriving, type ReceiveOptions } from "../arriving_content.ts";
import type { Outcome, WorkspaceRefusal, WrittenFile } from "../port.ts";
import { requireRoom } from "./change.ts";
import type { Store } from "./context.ts";
import type { FileRecord } from "./records.ts";
import { findWritable, stageAndPut } from "./write.ts";

/** So much may arrive before the quota is looked at again. */
const bytesBetweenLooks = 1024 * 1024;

/** Changes or creates the file at `path` once all of `content` is there. */
export async function receiveStoreFile(
  store: Store,
  path: WorkspacePath,
  content: ArrivingContent,
  { mode, ifMatch }: ReceiveOptions = {},
): Promise<Outcome<WrittenFile>> {
  const place = await findWritable(store, path);
  if (!place.ok) return place;
  const check = (current: FileRecord | null): Outcome<null> => {
    if (mode === "create" && current !== null) return failure({ reason: "already_exists" });
    const isOther = ifMatch !== undefined && current?.sha256 !== ifMatch.toLowerCase();
    return isOther ? failure({ reason: "conflict" }) : success(null);
  };
  const checked = check(place.value.entry); // before a byte is taken
  if (!checked.ok) return checked;
  const guarded = guard(store, content, place.value.entry?.sizeBytes ?? 0);
  try {
    return await stageAndPut(store, path, { pieces: guarded.pieces() }, check, maxArriving(store.limits));
  } catch (error) {
    if (error instanceof NoRoom) return failure(error.refusal);
    throw error;
  } finally {
    guarded.release();
  }
}

class NoRoom extends Error {
  constructor(readonly refusal: WorkspaceRefusal) {
    super("The quota leaves no room");
  }
}

/** The content, ended where the quota leaves no room for what has arrived, here and at other callers. */
function guard(
  store: Store,
  content: ArrivingContent,
  replacedBytes: number,
): { readonly pieces: () => AsyncGenerator<Uint8Array>; readonly release: () => void } {
  let bytes = 0;
  let seenBytes = 0;
  const requireMore = async (): Promise<Result<null, WorkspaceRefusal>> => {
    if (bytes < seenBytes) return success(null);
    seenBytes = bytes + bytesBetweenLooks;
    return await requireRoom(store, store.arriving.bytes - replacedBytes);
  };
  return {
    async *pieces() {
      for await (const piece of content) {
        bytes += piece.byteLength;
        store.arriving.bytes += piece.byteLength;
        const room = await requireMore();
        if (!room.ok) throw new NoRoom(room.error);
        yield piece;
      }
    },
    release() {
      store.arriving.bytes -= bytes;
    },
  };
}
