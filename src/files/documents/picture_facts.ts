/** What pictures say of themselves before they are decoded. */

/** What clients show: models see no more than about 1.5 megapixels. */
export const maxShownPixels = 1_500_000;
export const maxShownBytes = 1_048_576;

type PictureFacts = ReturnType<typeof toFacts>;

function toFacts(kind: string, width: number, height: number, { orientation = 1, hasMetadata = false } = {}) {
  return { kind, width, height, orientation, hasMetadata };
}

/** Whether clients show it, and it says nothing beside its picture: where it was taken, for one. */
export function isShownAsItIs({ kind, width, height, hasMetadata }: PictureFacts, sizeBytes: number): boolean {
  return kind !== "bmp" && kind !== "tiff" && !hasMetadata && width * height <= maxShownPixels &&
    sizeBytes <= maxShownBytes;
}

/** Chunks or segments of one file that are looked at, on the thread that serves everyone. */
const maxPieces = 10_000;

/** Whether a file that begins so may be a picture that is measured here. */
export function mayBePicture(head: Uint8Array): boolean {
  const start = String.fromCharCode(...head.subarray(0, 4));
  return /^(?:\x89PNG|GIF8|BM|RIFF|II\*\0|MM\0\*|\xff\xd8)/.test(start);
}

/** What a picture's head says, or `null` for what is none. */
export function measurePicture(bytes: Uint8Array): PictureFacts | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tag = (at: number, length: number) => String.fromCharCode(...bytes.subarray(at, at + length));
  try {
    if (tag(0, 4) === "\x89PNG") {
      let hasMetadata = false;
      for (let at = 8, pieces = 0; at + 8 < bytes.length && !hasMetadata; at += view.getUint32(at) + 12) {
        hasMetadata = ++pieces > maxPieces || ["eXIf", "tEXt", "zTXt", "iTXt"].includes(tag(at + 4, 4));
      }
      return toFacts("png", view.getUint32(16), view.getUint32(20), { hasMetadata });
    }
    if (tag(0, 4) === "GIF8") return toFacts("gif", view.getUint16(6, true), view.getUint16(8, true));
    if (tag(0, 2) === "BM" && view.getUint32(6) === 0) {
      return toFacts("bmp", view.getInt32(18, true), Math.abs(view.getInt32(22, true)));
    }
    if (tag(0, 4) === "RIFF" && tag(8, 4) === "WEBP") return measureWebp(view, tag(12, 4));
    if (["II*\0", "MM\0*"].includes(tag(0, 4))) {
      const tags = readTags(view, 0);
      const others = { orientation: toOrientation(tags), hasMetadata: true };
      return toFacts("tiff", tags.get(256) ?? 0, tags.get(257) ?? 0, others);
    }
    return view.getUint16(0) === 0xffd8 ? measureJpeg(view, tag) : null;
  } catch {
    return null;
  }
}

/** RFC 9649 §2.5 to §2.7. */
function measureWebp(view: DataView, chunk: string): PictureFacts {
  if (chunk === "VP8 ") return toFacts("webp", view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff);
  const bits = view.getUint32(21, true);
  if (chunk === "VP8L") return toFacts("webp", (bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
  const side = (at: number) => (view.getUint32(at, true) & 0xffffff) + 1;
  return toFacts("webp", side(24), side(27), { hasMetadata: (view.getUint8(20) & 0x0c) !== 0 });
}

function measureJpeg(view: DataView, tag: (at: number, length: number) => string): PictureFacts | null {
  let orientation: number | undefined;
  let hasMetadata = false;
  for (let at = 2, pieces = 0; view.getUint8(at) === 0xff; at += 2 + view.getUint16(at + 2)) {
    if (++pieces > maxPieces) return null;
    const marker = view.getUint8(at + 1);
    const isExif = orientation === undefined && marker === 0xe1 && tag(at + 4, 4) === "Exif";
    if (isExif) orientation = toOrientation(readTags(view, at + 10)); // each may name 65,535 entries: the first counts
    hasMetadata ||= [0xe1, 0xed, 0xfe].includes(marker);
    if (marker < 0xc0 || marker > 0xcf || [0xc4, 0xc8, 0xcc].includes(marker)) continue;
    const turned = { orientation: orientation ?? 1, hasMetadata };
    return toFacts("jpeg", view.getUint16(at + 7), view.getUint16(at + 5), turned);
  }
  return null;
}

/** The numbers of a TIFF's first directory, which Exif's is, too (TIFF 6.0, section 2). */
function readTags(view: DataView, start: number): Map<number, number> {
  const isLittle = view.getUint16(start) === 0x4949;
  const directory = start + view.getUint32(start + 4, isLittle);
  const tags = new Map<number, number>();
  for (let entry = 0; entry < view.getUint16(directory, isLittle); entry++) {
    const at = directory + 2 + entry * 12;
    const read = view.getUint16(at + 2, isLittle) === 3 ? view.getUint16 : view.getUint32;
    tags.set(view.getUint16(at, isLittle), read.call(view, at + 8, isLittle));
  }
  return tags;
}

function toOrientation(tags: ReadonlyMap<number, number>): number {
  const orientation = tags.get(274) ?? 1;
  return orientation >= 1 && orientation <= 8 ? orientation : 1;
}
