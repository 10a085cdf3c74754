/**
 * Makes a screenshot's PNG (8 bits a channel, RGB or RGBA, not interlaced) small: a palette of the 256 colours that it
 * has most of, and the nearest of them in place of every other one, which are edges of letters and shadows.
 */
import { Buffer } from "node:buffer";
import { crc32, deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const maxColours = 256;

/** The smaller PNG. */
export function toPalettePng(png: Uint8Array): Uint8Array {
  const { width, height, channels, pixels } = decode(Buffer.from(png));
  const colourAt = (pixel: number): number => pixels.readUIntBE(pixel * channels, 3);
  const counts = new Map<number, number>();
  for (let pixel = 0; pixel < width * height; pixel++) {
    counts.set(colourAt(pixel), (counts.get(colourAt(pixel)) ?? 0) + 1);
  }
  const palette = [...counts].sort(([, a], [, b]) => b - a).slice(0, maxColours).map(([colour]) => colour);
  const indices = new Map(Array.from(counts.keys(), (colour) => [colour, nearest(palette, colour)]));
  const rows = Buffer.alloc(height * (width + 1)); // each begins with its filter, which is none
  for (let pixel = 0; pixel < width * height; pixel++) {
    rows[Math.floor(pixel / width) * (width + 1) + 1 + pixel % width] = indices.get(colourAt(pixel)) ?? 0;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8); // eight bits, by palette
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("PLTE", Buffer.from(palette.flatMap(channelsOf))),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function channelsOf(colour: number): number[] {
  return [colour >> 16, (colour >> 8) & 255, colour & 255];
}

/** The index of the colour in the palette that is least far away. */
function nearest(palette: readonly number[], colour: number): number {
  const wanted = channelsOf(colour);
  const distances = palette.map((each) =>
    channelsOf(each).reduce((sum, value, channel) => sum + (value - (wanted[channel] ?? 0)) ** 2, 0)
  );
  return distances.indexOf(Math.min(...distances));
}

function chunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

function decode(png: Buffer) {
  const data: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") {
      data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
    }
  }
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const channels = png[25] === 6 ? 4 : 3;
  const stride = width * channels;
  const raw = inflateSync(Buffer.concat(data));
  const pixels = Buffer.alloc(height * stride);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x++) {
      const before = x >= channels;
      const left = before ? pixels[y * stride + x - channels] ?? 0 : 0;
      const above = y > 0 ? pixels[(y - 1) * stride + x] ?? 0 : 0;
      const aboveLeft = before && y > 0 ? pixels[(y - 1) * stride + x - channels] ?? 0 : 0;
      const predicted = [0, left, above, (left + above) >> 1, paeth(left, above, aboveLeft)][filter] ?? 0;
      pixels[y * stride + x] = ((raw[y * (stride + 1) + 1 + x] ?? 0) + predicted) & 255;
    }
  }
  return { width, height, channels, pixels };
}

/** PNG 9.4. */
function paeth(left: number, above: number, aboveLeft: number): number {
  const estimate = left + above - aboveLeft;
  const toLeft = Math.abs(estimate - left);
  const toAbove = Math.abs(estimate - above);
  const toCorner = Math.abs(estimate - aboveLeft);
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : aboveLeft;
}
