/** Contents of the store-backed workspace that arrive in pieces: they are staged as they come, outside the quota. */
import { failure, success } from "../../lib/result.ts";
import { type ArrivingContent, maxArriving, type ReceiveOptions } from "../workspace/change.ts";
import type { WorkspacePath } from "../workspace/path.ts";
import type { Outcome, WrittenFile } from "../workspace/port.ts";
import { requireRoom } from "./change.ts";
import { createContentStaging } from "./content.ts";
import type { Store } from "./context.ts";
import type { FileRecord } from "./records.ts";
import { findWritable, putStaged } from "./write.ts";

/** So much may arrive before the quota is looked at again. */
const bytesBetweenLooks = 1024 * 1024;

/** Changes or creates the file at `path` once all of `content` is there. */
export async function receiveStoreFile(
  store: Store,
  path: WorkspacePath,
  content: ArrivingContent,
  { mode, ifMatch }: ReceiveOptions = {},
): Promise<Outcome<WrittenFile>> {
  const check = (current: FileRecord | null): Outcome<null> => {
    if (mode === "create" && current !== null) return failure({ reason: "already_exists" });
    const isOther = ifMatch !== undefined && current?.sha256 !== ifMatch.toLowerCase();
    return isOther ? failure({ reason: "conflict" }) : success(null);
  };
  const place = await findWritable(store, path);
  if (!place.ok) return place;
  const { entry } = place.value;
  const checked = check(entry); // before a byte is taken
  if (!checked.ok) return checked;
  const { arriving } = store;
  const limitBytes = maxArriving(store.limits);
  const staging = createContentStaging(store);
  let seenBytes = 0;
  let isPlaced = false;
  try {
    for await (const piece of content) {
      const bytes = staging.sizeBytes + piece.byteLength;
      if (bytes > limitBytes) return failure({ reason: "too_large", sizeBytes: bytes, limitBytes });
      arriving.bytes += piece.byteLength;
      await staging.add(piece);
      if (bytes < seenBytes) continue;
      seenBytes = bytes + bytesBetweenLooks;
      const room = await requireRoom(store, arriving.bytes - (entry?.sizeBytes ?? 0));
      if (!room.ok) return room;
    }
    const placed = await putStaged(store, path, staging.finish(), check);
    isPlaced = placed.ok;
    return placed;
  } finally {
    arriving.bytes -= staging.sizeBytes;
    if (!isPlaced) await staging.drop();
  }
}
