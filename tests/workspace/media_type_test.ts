import assert from "node:assert/strict";
import { sniffMedia } from "../../src/files/workspace/encoding.ts";

const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

const starts: readonly (readonly [start: string, mimeType: string])[] = [
  ["\x89PNG\r\n\x1a\n", "image/png"],
  ["\xff\xd8\xff", "image/jpeg"],
  ["GIF87a", "image/gif"],
  ["GIF89a", "image/gif"],
  ["RIFF\x04\0\0\0WEBP", "image/webp"],
  ["RIFF\x04\0\0\0WAVE", "audio/wav"],
  ["\0\0\0\x20ftypavif", "image/avif"],
  ["\0\0\0\x20ftypM4A", "audio/mp4"],
  ["fLaC", "audio/flac"],
  ["OggS", "audio/ogg"],
  ["ID3", "audio/mpeg"],
  ["\xff\xfb", "audio/mpeg"],
];

Deno.test("media are known by their first bytes, at any length, and by nothing less or elsewhere", () => {
  for (const [start, mimeType] of starts) {
    assert.equal(sniffMedia(bytesOf(start))?.mimeType, mimeType);
    assert.equal(sniffMedia(bytesOf(`${start} and what follows`))?.mimeType, mimeType);
    assert.equal(sniffMedia(bytesOf(start.slice(0, -1)))?.mimeType, undefined);
    assert.equal(sniffMedia(bytesOf(` ${start}`))?.mimeType, undefined);
  }
  assert.equal(sniffMedia(new Uint8Array()), null);
});
