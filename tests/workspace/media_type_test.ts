import assert from "node:assert/strict";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { answerOf, withWorkspace } from "../tools/with_workspace.ts";
import { sniffMedia } from "../../src/files/text/encoding.ts";

const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

const starts: readonly (readonly [start: string, mimeType: string])[] = [
  ["\x89PNG\r\n\x1a\n", "image/png"],
  ["\xff\xd8\xff", "image/jpeg"],
  ["GIF87a\x10", "image/gif"],
  ["GIF89a\0", "image/gif"],
  ["RIFF\x04\0\0\0WEBP", "image/webp"],
  ["RIFF\x04\0\0\0WAVE", "audio/wav"],
  ["\0\0\0\x20ftypavif", "image/avif"],
  ["\0\0\0\x20ftypM4A", "audio/mp4"],
  ["fLaC\0", "audio/flac"],
  ["OggS\0", "audio/ogg"],
  ["ID3\x03", "audio/mpeg"],
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

Deno.test("a text that begins as media do is a text, in whatever encoding", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    const texts = [
      ...["ID3,name\n1,x\n", "ID3 is a format of tags", "GIF89a is the newer form", "GIF87a", "GIF8"],
      ...["OggS\r\n\tpages", "fLaC", "BM", "II*", "MM", "RIFF of WEBP, VP8X and more"],
      ...["Convert WEBP files", "The old WAVE format", "How ftypavif is found", "RIFF of\xa0\tWAVE", "RIFF für WEBP"],
      ...["ID3 für Töne", "GIF89a für \xe9\xfe"],
    ];
    for (const text of texts) {
      for (const longer of ["", " and what follows\n".repeat(20)]) {
        for (const bytes of [bytesOf(text + longer), new TextEncoder().encode(text + longer)]) {
          assert.equal(sniffMedia(bytes), null, JSON.stringify(text));
          Deno.writeFileSync(`${root}/f`, bytes);
          assert.ok((await answerOf(read, { filename: "f" })).text.startsWith(text.slice(0, 7)), JSON.stringify(text));
        }
      }
    }
  }));
