/** Pictures by file_read: scaled in the thread where that is needed, as they are where it is not. */
import { PhotonImage } from "@cf-wasm/photon/node";
import assert from "node:assert/strict";
import { createDocuments } from "../../src/files/documents/reading.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { answerOf, failureOf, withWorkspace } from "../tools/with_workspace.ts";

function draw(width: number, height: number): PhotonImage {
  const pixels = new Uint8Array(width * height * 4).map((_, at) => at % 4 === 3 ? 255 : (at * 7919) >>> 5 & 0xff);
  return new PhotonImage(pixels, width, height);
}

Deno.test("file_read scales pictures of more than one read holds, and says what they were", () =>
  withWorkspace(async ({ root, workspace }) => {
    const documents = createDocuments({ readingMs: 120_000 });
    try {
      const read = fileReadTool(() => workspace, null, documents);
      Deno.writeFileSync(`${root}/big.jpg`, draw(2400, 1600).get_bytes_jpeg(98));
      assert.ok(Deno.statSync(`${root}/big.jpg`).size > workspace.limits.maxReadBytes);
      const { blocks, texts, structured } = await answerOf(read, { filename: "big.jpg" });
      assert.match(
        texts.join(""),
        /^\(big\.jpg: image\/jpeg, \d+ bytes, .*; shown as 1500 x 1000 of 2400 x 1600 pixels/,
      );
      assert.equal(structured["size_bytes"], Deno.statSync(`${root}/big.jpg`).size);
      const shown = blocks.find(({ type }) => type === "image");
      assert.ok(shown?.type === "image" && shown.data.length < 1_500_000);
      assert.equal(PhotonImage.new_from_byteslice(Uint8Array.fromBase64(shown.data)).get_width(), 1500);

      const small = draw(30, 20).get_bytes();
      Deno.writeFileSync(`${root}/small.png`, small);
      const same = (await answerOf(read, { filename: "small.png" })).blocks[0];
      assert.ok(same?.type === "image" && same.data === small.toBase64());

      const bomb = small.slice();
      new DataView(bomb.buffer).setUint32(16, 1_000_000);
      Deno.writeFileSync(`${root}/bomb.png`, bomb);
      assert.match((await answerOf(read, { filename: "bomb.png" })).texts.join(""), /shown as .*/);
      Deno.writeFileSync(`${root}/cut.jpg`, Deno.readFileSync(`${root}/big.jpg`).subarray(0, 1_200_000).fill(0, 900));
      assert.match((await failureOf(read, { filename: "cut.jpg" })).message, /damaged/);
      const heic = "\0\0\0\x18ftypheic\0\0\0\0mif1heic\xff\0";
      Deno.writeFileSync(`${root}/phone.heic`, Uint8Array.from(heic, (letter) => letter.charCodeAt(0)));
      assert.match((await failureOf(read, { filename: "phone.heic" })).message, /in HEIC, .*; save it as JPEG/);
      Deno.writeTextFileSync(`${root}/a.svg`, "<svg><text>hi</text></svg>");
      assert.match((await answerOf(read, { filename: "a.svg" })).text, /^<svg><text>hi/);
      Deno.writeTextFileSync(`${root}/car.txt`, "BMW and IIT are no pictures, GIFT and RIFF neither");
      assert.equal(
        (await answerOf(read, { filename: "car.txt" })).structured["content"],
        Deno.readTextFileSync(`${root}/car.txt`),
      );
    } finally {
      documents.close();
    }
  }));
