/** Writes ZIP archives: deflated, with file modes, and the same bytes for the same contents (APPNOTE.TXT 6.3). */
import { Buffer } from "node:buffer";
import { crc32, deflateRawSync } from "node:zlib";

/** One file of an archive. */
export interface ZipEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly executable: boolean;
}

const madeByUnix = (3 << 8) | 20;
const needsVersion = 20;
const utf8Names = 0x0800;
const deflated = 8;
const firstOfJanuary1980 = 0x0021; // the earliest date that the format knows
const regularFile = 0o100000;

/** The archive's bytes. Files of 4 GiB and more are beyond the plain format, and refused. */
export function zip(entries: readonly ZipEntry[]): Uint8Array {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name, bytes, executable } of entries) {
    if (bytes.byteLength > 0xffffffff) throw new RangeError(`${name} is too large for a ZIP archive`);
    const encodedName = Buffer.from(name, "utf8");
    const data = deflateRawSync(bytes, { level: 9 });
    const common = Buffer.alloc(26);
    [needsVersion, utf8Names, deflated, 0, firstOfJanuary1980].forEach((value, at) =>
      common.writeUInt16LE(value, at * 2)
    );
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(data.byteLength, 14);
    common.writeUInt32LE(bytes.byteLength, 18);
    common.writeUInt16LE(encodedName.byteLength, 22);
    const local = Buffer.concat([signature(0x04034b50), common, encodedName, data]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(((regularFile | (executable ? 0o755 : 0o644)) << 16) >>> 0, 6);
    rest.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([signature(0x02014b50), uint16(madeByUnix), common, rest, encodedName]));
    locals.push(local);
    offset += local.byteLength;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(directory.byteLength, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, directory, signature(0x06054b50), end]);
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}
