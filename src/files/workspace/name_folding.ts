/**
 * Names as the least strict file systems compare them. Two spellings that any of them takes for one name fold to one
 * text: NTFS, APFS, HFS+, FAT and ext4 with casefold all distinguish at least what differs here.
 */
const plainAscii = /^[\x20-\x7e]*$/;
// HFS+ passes over these when it compares names (CVE-2014-9390)
const ignorable = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** Win32 drops dots and blanks at the end; NTFS takes what follows a colon for a stream of the file before it. */
const suffix = /:|[\s.]$/u;

/** The name without case, Unicode form and invisible characters. */
export function foldName(name: string): string {
  if (plainAscii.test(name)) return name.toLowerCase();
  // there and back: U+017F is a small letter that has only "S" in upper case, U+1E9E a capital with only a small one
  const cased = name.replace(ignorable, "").normalize("NFKC").toLowerCase().toUpperCase().toLowerCase();
  return cased.normalize("NFKC").replace(ignorable, "");
}

/** The folded name, and beside it the one that Windows opens where it drops a part. */
export function foldedForms(name: string): readonly string[] {
  const folded = foldName(name);
  if (!suffix.test(folded)) return [folded];
  const opened = folded.replace(/(?<=.):.*$/su, "").replace(/[\s.]+$/u, "");
  return opened === "" || opened === folded ? [folded] : [folded, opened];
}
