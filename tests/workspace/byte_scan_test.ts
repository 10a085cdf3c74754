import assert from "node:assert/strict";
import { Buffer, isUtf8 } from "node:buffer";
import fc from "fast-check";
import { createByteScan, scannedBytes } from "../../src/files/text/byte_screen.ts";
import { createLinePattern } from "../../src/files/text/line_pattern.ts";

const byte = fc.constantFrom(..."abABkK \n\r19".split("").map((each) => each.charCodeAt(0)), 0xc3, 0xa9, 0xff, 0x7f);
const inLine = byte.filter((each) => each !== 10);
const place = fc.record({ bytes: fc.uniqueArray(inLine, { maxLength: 4 }), goesBeyond: fc.boolean() });

Deno.test("createByteScan() tells of bytes as a look at each place does", () => {
  // of a set, the scan knows the low halves of its bytes and the high halves
  const takes = (set: readonly number[], each: number | undefined): boolean =>
    each !== undefined && set.some((one) => one % 16 === each % 16) && set.some((one) => one >> 4 === each >> 4);
  let [absent, present] = [0, 0];
  fc.assert(
    fc.property(
      fc.array(place, { minLength: 1, maxLength: 8 }),
      fc.array(fc.oneof({ weight: 100, arbitrary: byte }, { weight: 1, arbitrary: fc.constant(0) }), { maxLength: 80 }),
      (places, values) => {
        const bytes = Uint8Array.from(values);
        const isThere = values.some((_, at) => places.every(({ bytes: set }, index) => takes(set, bytes[at + index])));
        const isText = !values.includes(0) && isUtf8(bytes);
        const isJudged = !places.some(({ goesBeyond }) => goesBeyond) || values.every((each) => each < 0x80);
        assert.equal(createByteScan(places)(bytes), isText && isJudged && !isThere);
        if (isThere) present++;
        else absent++;
      },
    ),
    { numRuns: 5_000 },
  );
  assert.ok(absent > 100 && present > 100, `${absent}, ${present}`);
});

Deno.test("createByteScan() finds a text wherever it lies, and says nothing of too many bytes", () => {
  const bytesOf = (text: string) => Array.from(Buffer.from(text), (each) => ({ bytes: [each], goesBeyond: false }));
  for (const text of ["x", "xy", "xyz", "needless"]) {
    const isAbsent = createByteScan(bytesOf(text));
    for (let before = 0; before < 40; before++) {
      for (let after = 0; after < 20; after++) {
        assert.equal(isAbsent(Buffer.from(`${"n".repeat(before)}${text}${"e".repeat(after)}`)), false);
      }
      assert.equal(isAbsent(Buffer.from("n".repeat(before))), true);
    }
    assert.equal(isAbsent(Buffer.alloc(65_536, "n")), true);
    assert.equal(isAbsent(Buffer.concat([Buffer.alloc(65_536 - text.length, "n"), Buffer.from(text)])), false);
    assert.equal(isAbsent(Buffer.alloc(65_537, "n")), false);
  }
});

Deno.test("a text in any case is found by the letters that fold with it", async () => {
  for (const text of ["ask", "\u212a", "\u017fun", "straße", "ÉCOLE", "K2", "a.s", "/-]"]) {
    for (const isRegularExpression of [false, true]) {
      const query = { text: isRegularExpression ? RegExp.escape(text) : text, isRegularExpression, ignoreCase: true };
      const pattern = await createLinePattern(query);
      assert.ok(pattern.ok, text);
      const spellings = [text, text.toLowerCase(), text.toUpperCase(), text.replace(/k/i, "\u212a")];
      spellings.push(text.replace(/s/i, "\u017f"), text.replace("\u212a", "k"), text.replace("\u017f", "S"));
      for (const spelling of spellings) {
        if (pattern.value.find(spelling) === -1) continue;
        assert.equal(pattern.value.scan(Buffer.from(`one\n${spelling}\n`)), false, `${text}: ${spelling}`);
      }
      assert.equal(pattern.value.scan(Buffer.from("nothing of it\n")), true, text);
    }
  }
});

Deno.test("createByteScan() scans what was put where it scans, and only that", () => {
  const isAbsent = createByteScan([{ bytes: [0x78], goesBeyond: true }, { bytes: [0x79], goesBeyond: false }]);
  const bytes = scannedBytes();
  bytes.set(Buffer.from("nothing, and then xy"));
  assert.equal(isAbsent(bytes, 20), false);
  assert.equal(isAbsent(bytes, 19), true);
  assert.equal(isAbsent(Buffer.from("é")), false);
  bytes.set(Buffer.from("n".repeat(65_536)));
  assert.equal(isAbsent(bytes, 65_536), true);
});
