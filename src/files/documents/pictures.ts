/** Pictures as clients show them: scaled, turned as their metadata says, and without it. */
import { PhotonImage, resize } from "@cf-wasm/photon/node";
import { DocumentRefusal } from "./document.ts";
import { isShownAsItIs, maxShownBytes, maxShownPixels, measurePicture } from "./picture_facts.ts";

/** Known before a picture is decoded; each takes up to 12 bytes then. */
const maxPixels = 50_000_000;
const jpegQualities = [85, 70, 50, 30];
const triangleFilter = 2; // photon's SamplingFilter.Triangle, which is enough to make pictures smaller

/** The picture that is shown, or `null` where that is the file itself. */
export function scalePicture(file: Uint8Array) {
  const facts = measurePicture(file);
  if (facts === null) throw new DocumentRefusal("it is damaged, or no picture of a known kind");
  const { width: fromWidth, height: fromHeight, kind, orientation } = facts;
  const pixels = fromWidth * fromHeight;
  if (pixels > maxPixels) throw new DocumentRefusal(`it has ${pixels} pixels, and the limit is ${maxPixels}`);
  if (isShownAsItIs(facts, file.length)) return null;
  const made: { free(): void }[] = [];
  const keep = <T extends { free(): void }>(one: T): T => made[made.push(one) - 1] as T;
  try {
    let picture = keep(PhotonImage.new_from_byteslice(file));
    const scale = Math.min(1, Math.sqrt(maxShownPixels / pixels));
    const [width, height] = [fromWidth, fromHeight].map((side) => Math.max(1, Math.floor(side * scale)));
    if (scale < 1) picture = keep(resize(picture, width ?? 1, height ?? 1, triangleFilter));
    const turned = turn(picture.get_raw_pixels(), picture.get_width(), picture.get_height(), orientation);
    const shown = (bytes: Uint8Array, mimeType: string) => ({
      ...{ bytes, mimeType, width: turned.width, height: turned.height, fromWidth, fromHeight },
    });
    if (kind !== "jpeg") {
      const bytes = keep(new PhotonImage(turned.pixels, turned.width, turned.height)).get_bytes();
      if (bytes.length <= maxShownBytes) return shown(bytes, "image/png");
    }
    const opaque = keep(new PhotonImage(onWhite(turned.pixels), turned.width, turned.height));
    for (const quality of jpegQualities) {
      const bytes = opaque.get_bytes_jpeg(quality);
      if (bytes.length <= maxShownBytes) return shown(bytes, "image/jpeg");
    }
  } catch {
    throw new DocumentRefusal("it is damaged: its picture cannot be decoded");
  } finally {
    for (const one of made) one.free();
  }
  throw new DocumentRefusal("it stays larger than what can be shown");
}

/** Pixels of four bytes as Exif's orientation says (TIFF 6.0, tag 274). */
function turn(pixels: Uint8Array, width: number, height: number, orientation: number) {
  if (orientation === 1) return { pixels, width, height };
  const from = new Uint32Array(pixels.buffer, pixels.byteOffset, width * height);
  const isOnSide = orientation >= 5;
  const [wide, high] = isOnSide ? [height, width] : [width, height];
  const isMirroredX = [2, 3, 7, 8].includes(orientation);
  const isMirroredY = [3, 4, 6, 7].includes(orientation);
  const to = new Uint32Array(from.length);
  for (let y = 0; y < high; y++) {
    for (let x = 0; x < wide; x++) {
      const [column, line] = isOnSide ? [y, x] : [x, y];
      to[y * wide + x] =
        from[(isMirroredY ? height - 1 - line : line) * width + (isMirroredX ? width - 1 - column : column)] ??
          0;
    }
  }
  return { pixels: new Uint8Array(to.buffer), width: wide, height: high };
}

function onWhite(pixels: Uint8Array): Uint8Array {
  return pixels.map((value, at) => {
    const alpha = pixels[at | 3] ?? 255;
    return (at & 3) === 3 ? 255 : alpha === 255 ? value : Math.round((value * alpha + 255 * (255 - alpha)) / 255);
  });
}
