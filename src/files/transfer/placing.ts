/** A link is used up by one upload that is put in place, whatever is refused or killed on the way. */
import type { Draft, DraftOptions, Outcome } from "../workspace/port.ts";
import type { TransferRecord } from "./link_record.ts";
import type { TransferStore } from "./link_store.ts";
import { CutUpload } from "./upload_body.ts";
import type { LinkTarget } from "./transfer_parts.ts";

/** Opens the draft, unless it has become the file: by another request, or by one that was killed right after. */
export async function openOnce(
  links: TransferStore,
  { id, path, workspace }: LinkTarget,
  options: DraftOptions,
): Promise<Outcome<Draft | null>> {
  const wasPlacing = isPlacing(await links.read(id));
  const opened = await workspace.openDraft(path, wasPlacing ? { ...options, isNew: false } : options);
  if (!opened.ok || opened.value === null) return opened;
  const draft = opened.value;
  if (draft.sizeBytes === 0) {
    const now = await links.read(id);
    if (now !== null && !isPlacing(now)) return opened;
    await draft.discard();
    throw new CutUpload("used_up");
  }
  if (!wasPlacing) return opened;
  await giveBack(links, id);
  if (!options.isNew) return opened;
  await draft.discard();
  return await workspace.openDraft(path, options);
}

function isPlacing(record: TransferRecord | null): boolean {
  return record?.direction === "upload" && record.isPlacing === true;
}

/** Notes that all of the file is there, so many bytes, unless another holds the link by now. */
export async function notePlacing(
  links: TransferStore,
  id: string,
  { holder, totalBytes }: { readonly holder: string; readonly totalBytes: number },
): Promise<boolean> {
  return await links.update(
    id,
    (now) => now.direction === "upload" && now.holder === holder ? { ...now, totalBytes, isPlacing: true } : "leave",
  );
}

/** Notes that it was not put in place: the link is good again. */
export async function giveBack(links: TransferStore, id: string): Promise<void> {
  await links.update(id, (now) => now.direction === "upload" ? { ...now, isPlacing: false } : "leave");
}
