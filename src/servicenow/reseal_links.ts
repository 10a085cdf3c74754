/** Key rotation: seals every stored link anew under another master key, while the server runs. */
import type { SecretBox } from "../lib/secret_box.ts";
import { pagesBelow } from "../lib/stored_entries.ts";
import type { Storage, StoredEntry } from "../storage/port.ts";
import { linkedAccount, linkPrefix, parseLinkRecord, sealedLink } from "./link_record.ts";

interface ResealReport {
  readonly resealed: number;
  /** Already under the new key, or without tokens. */
  readonly upToDate: number;
  /** Under neither key: these users have to link their accounts again. */
  readonly unreadable: number;
}

/** Seals what opens with `from` under `to`. May be repeated, and interrupted at any point. */
export async function resealLinks(
  storage: Storage,
  { from, to }: { readonly from: SecretBox; readonly to: SecretBox },
): Promise<ResealReport> {
  const report = { resealed: 0, upToDate: 0, unreadable: 0 };
  for await (const page of pagesBelow(storage, linkPrefix)) {
    for (const entry of page) report[await resealEntry(storage, entry, { from, to })] += 1;
  }
  return report;
}

async function resealEntry(
  storage: Storage,
  listed: StoredEntry,
  { from, to }: { readonly from: SecretBox; readonly to: SecretBox },
): Promise<keyof ResealReport> {
  let entry: StoredEntry | null = listed;
  while (entry !== null) {
    const { key, version } = entry;
    const subject = key.at(-1) ?? "";
    const record = parseLinkRecord(entry.value);
    if (record.sealed === null) return await resealAccount(storage, entry, { from, to });
    if (await sealedLink.open(to, subject, record.instance, record.sealed) !== null) return "upToDate";
    const link = await sealedLink.open(from, subject, record.instance, record.sealed);
    if (link === null) return "unreadable";
    const value = { ...record, sealed: await sealedLink.seal(to, subject, record.instance, link) };
    if (await storage.commit({ checks: [{ key, version }], puts: [{ key, value }] })) return "resealed";
    entry = await storage.get(key); // changed in the meantime
  }
  return "upToDate"; // unlinked in the meantime
}

/** Whose account a refused link was: without it, the fact of the refusal stays. */
async function resealAccount(
  storage: Storage,
  { key, version, value }: StoredEntry,
  { from, to }: { readonly from: SecretBox; readonly to: SecretBox },
): Promise<keyof ResealReport> {
  const subject = key.at(-1) ?? "";
  const { instance, refused, ...record } = parseLinkRecord(value);
  const account = refused && await linkedAccount.open(from, subject, instance, refused.sealedAccount);
  if (!refused || !account) return "upToDate";
  const sealedAccount = await linkedAccount.seal(to, subject, instance, account);
  const resealed = { ...record, instance, refused: { ...refused, sealedAccount } };
  // Where it changed in the meantime, the person has just linked an account, under the new key.
  await storage.commit({ checks: [{ key, version }], puts: [{ key, value: resealed }] });
  return "upToDate";
}
