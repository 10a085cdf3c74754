import assert from "node:assert/strict";
import fc from "fast-check";
import { Buffer } from "node:buffer";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { createToolRegistry } from "../../src/mcp/registry.ts";
import { parseToolInput } from "../../src/mcp/tool_call.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

Deno.test("file_read gives the lines that head, tail and the range ask for", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    Deno.writeTextFileSync(`${root}/a`, "1\n2\n3\n4\n5");
    const content = async (options: Record<string, unknown>): Promise<unknown[]> => {
      const { structured } = await answerOf(read, { filename: "a", ...options });
      return [structured["content"], structured["start_line"], structured["end_line"], structured["next_cursor"]];
    };
    assert.deepEqual(await content({ end_line: 2 }), ["1\n2\n", 1, 2, undefined]);
    assert.deepEqual(await content({ end_line: 9 }), ["1\n2\n3\n4\n5", 1, 5, undefined]);
    assert.deepEqual(await content({ start_line: 4 }), ["4\n5", 4, 5, undefined]);
    assert.deepEqual(await content({ start_line: 2, end_line: 3 }), ["2\n3\n", 2, 3, undefined]);
    assert.deepEqual(await content({ end_line: 1 }), ["1\n", 1, 1, undefined]);
    assert.deepEqual((await content({ start_line: 9 }))[0], "");
    assert.deepEqual(await content({ tail: 2 }), ["4\n5", 4, 5, undefined]);
    assert.deepEqual((await content({ tail: 9 }))[0], "1\n2\n3\n4\n5");
    Deno.writeTextFileSync(`${root}/a`, "\n1\n\n");
    assert.deepEqual((await content({ tail: 1 }))[0], "\n");
    assert.deepEqual((await content({ tail: 2 })).slice(0, 3), ["1\n\n", 2, 3]);
    assert.deepEqual((await content({ tail: 3 }))[0], "\n1\n\n");
    assert.equal((await failureOf(read, { filename: "a", start_line: 1, tail: 1 })).code, "invalid_arguments");
    assert.equal((await failureOf(read, { filename: "a", start_line: 2, end_line: 1 })).code, "invalid_arguments");
    assert.equal((await failureOf(read, { filename: "a", cursor: "?" })).code, "invalid_arguments");
  }));

Deno.test("lines behind a name may be in words, where they can mean one thing, and a file of the whole name comes first", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    const lines = Array.from({ length: 60 }, (_, index) => `${index + 1}\n`);
    Deno.writeTextFileSync(`${root}/a b.md`, lines.join(""));
    const forms: Record<string, readonly [first: number, last: number]> = {
      ...{ "a b.md lines 10 to 20": [10, 20], "a b.md:10 through 20": [10, 20], "a b.md (lines 10-20)": [10, 20] },
      ...{ "a b.md first 50 lines": [1, 50], "a b.md:first 50": [1, 50], "first 50 lines of a b.md": [1, 50] },
      ...{ "a b.md, last 20": [41, 60], "the last 20 lines of a b.md": [41, 60], "a b.md:last 20": [41, 60] },
      ...{ "a b.md line 7": [7, 7], "a b.md:from 50 to the end": [50, 60], "a b.md#lines 3..4": [3, 4] },
    };
    for (const [filename, [first, last]] of Object.entries(forms)) {
      const { structured } = await answerOf(read, { filename });
      assert.equal(structured["content"], lines.slice(first - 1, last).join(""), filename);
    }
    for (const words of ["lines 20 to 10", "first few lines", "lines ten to twenty", "line 0", "lines 1-2 and 5-6"]) {
      assert.match((await failureOf(read, { filename: `a b.md ${words}` })).message, /did you mean a b\.md\?/, words);
    }
    Deno.writeTextFileSync(`${root}/a b.md line 7`, "itself");
    assert.equal((await answerOf(read, { filename: "a b.md line 7" })).structured["content"], "itself");
  }));

Deno.test("a file whose name ends as a range does is read in part in a list, too; a range beside another is refused", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    const registered = createToolRegistry([read]).get("file_read") ?? assert.fail();
    const inputOf = (files: readonly unknown[]): unknown => {
      const parsed = parseToolInput(registered, { files });
      return parsed.ok ? parsed.value : assert.fail(parsed.error);
    };
    const names = ["log:2026", "log:-5", "log:1-4", "log:2-", "log:L3", "log:5:6", "log#L2", "log lines 2 to 3", "log"];
    for (const name of names) {
      Deno.writeTextFileSync(
        `${root}/${name}`,
        [1, 2, 3, 4].map((n) => `${n} ${name}\n`).join(""),
      );
    }
    const ranges: readonly (readonly [Record<string, unknown>, first: number, last: number])[] = [
      [{ limit: 3 }, 1, 3],
      [{ offset: 2, limit: 2 }, 2, 3],
      [{ start_line: 3 }, 3, 4],
      [{ end_line: 2 }, 1, 2],
      [{ view_range: [2, 3] }, 2, 3],
      [{ tail: 2 }, 3, 4],
    ];
    for (const name of names) {
      for (const [range, first, last] of ranges) {
        const expected = [1, 2, 3, 4].slice(first - 1, last).map((n) => `${n} ${name}\n`).join("");
        for (const files of [[{ path: name, ...range }], ["log", { path: name, ...range }]]) {
          const { structured } = await answerOf(read, inputOf(files));
          const { content } = [structured, structured["files"] ?? []].flat().at(-1) as { content?: string };
          assert.equal(content, expected, JSON.stringify(files));
        }
      }
    }
    for (const name of names) if (name !== "log") Deno.removeSync(`${root}/${name}`);
    for (const name of names.slice(0, -1)) {
      for (const [range] of ranges) {
        const { message } = await failureOf(read, inputOf([{ path: name, ...range }]));
        assert.match(message, /has a range of its own: leave out one of the two/, `${name} ${JSON.stringify(range)}`);
      }
    }
    assert.match((await failureOf(read, inputOf([{ path: "lag:7", limit: 3 }]))).message, /no such file/);
  }));

Deno.test("an answer with fewer of the last lines than were asked for says so, and others do not", async () => {
  for (const maxReadBytes of [100_000, 500]) {
    await withWorkspace(async ({ root, workspace }) => {
      Deno.writeTextFileSync(`${root}/a`, "123456789\n".repeat(100));
      const read = fileReadTool(() => workspace);
      const noticeOf = async (input: Record<string, unknown>): Promise<string> => (await answerOf(read, input)).text;
      assert.match(
        await noticeOf({ filename: "a:-20", max_bytes: 100 }),
        /more were asked for: give a larger max_bytes/,
      );
      assert.doesNotMatch(await noticeOf({ filename: "a:-20", max_bytes: 300 }), /more were asked for/);
    }, { limits: { maxReadBytes } });
  }
});

Deno.test("a text larger than one read comes in parts that join to the whole, whatever its lines and characters", async () => {
  const line = fc.string({ unit: fc.constantFrom("a", "é", "€", "😀", " "), maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 12 }), async (lines) => {
      await withWorkspace(async ({ root, workspace }) => {
        const read = fileReadTool(() => workspace);
        const whole = lines.join("\n");
        Deno.writeTextFileSync(`${root}/a`, whole);
        let joined = "";
        let cursor: unknown;
        do {
          const { structured, blocks } = await answerOf(read, {
            filename: "a",
            ...cursor === undefined ? {} : { cursor },
          });
          joined += structured["content"];
          const texts = blocks.map((block) => block.type === "text" ? block.text : "");
          assert.ok(texts.includes(String(structured["content"])));
          cursor = structured["next_cursor"];
        } while (cursor !== undefined);
        assert.equal(joined, whole);
      }, { limits: { maxReadBytes: 40 } });
    }),
    { numRuns: 100 },
  );
});

Deno.test("line ranges and tails of a text larger than one read are right, and continue where they are cut", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    const lines = Array.from({ length: 100 }, (_, n) => `line ${n + 1}\n`);
    Deno.writeTextFileSync(`${root}/a`, lines.join(""));
    for (const [start, end] of [[1, 3], [50, 55], [98, 100], [100, 200]] as const) {
      const { structured } = await answerOf(read, { filename: "a", start_line: start, end_line: end });
      assert.equal(structured["content"], lines.slice(start - 1, end).join(""));
      assert.deepEqual([structured["start_line"], structured["next_cursor"]], [start, undefined]);
    }
    let joined = "";
    let request: Record<string, unknown> = { filename: "a", start_line: 20, end_line: 60 };
    for (;;) {
      const { structured } = await answerOf(read, request);
      joined += structured["content"];
      if (structured["next_cursor"] === undefined) break;
      request = { filename: "a", cursor: structured["next_cursor"] };
    }
    assert.equal(joined, lines.slice(19, 60).join(""));
    assert.equal((await answerOf(read, { filename: "a", tail: 3 })).structured["content"], lines.slice(-3).join(""));
    const tail = (await answerOf(read, { filename: "a", tail: 90 })).structured["content"];
    assert.ok(lines.join("").endsWith(String(tail)) && String(tail).startsWith("line "), "only whole lines");
  }, { limits: { maxReadBytes: 100 } }));

Deno.test("a cursor of a text that was changed since is refused", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    Deno.writeTextFileSync(`${root}/a`, "x".repeat(100));
    const { structured } = await answerOf(read, { filename: "a" });
    Deno.writeTextFileSync(`${root}/a`, "y".repeat(101));
    const refusal = await failureOf(read, { filename: "a", cursor: structured["next_cursor"] });
    assert.equal(refusal.code, "conflict");
  }, { limits: { maxReadBytes: 50 } }));

Deno.test("images and audio come as media content, with their type", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
    Deno.writeFileSync(`${root}/a.txt`, png);
    const image = await answerOf(read, { filename: "a.txt" });
    assert.deepEqual(image.blocks[0], { type: "image", data: png.toBase64(), mimeType: "image/png" });
    assert.match(image.texts.join(""), /^\(a\.txt: image\/png, 11 bytes, version [0-9a-f]{12}\)$/);
    assert.equal(image.structured["mime_type"], "image/png");
    const wav = new Uint8Array([0x52, 0x49, 0x46, 0x46, 0xff, 0, 0, 0, 0x57, 0x41, 0x56, 0x45, 0x66]);
    Deno.writeFileSync(`${root}/a.wav`, wav);
    const audio = await answerOf(read, { filename: "a.wav" });
    assert.deepEqual(audio.blocks[0], { type: "audio", data: wav.toBase64(), mimeType: "audio/wav" });
  }));

Deno.test("head, tail and ranges are right wherever the ends of the reads fall, also inside lines longer than one", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    const kibibyte = 1024;
    const lines = [
      1,
      60 * kibibyte,
      3 * kibibyte,
      1,
      200 * kibibyte,
      0,
      65_535,
      65_536,
      700 * kibibyte,
      5,
      0,
      64 * kibibyte,
    ]
      .map((length, index) => String.fromCharCode(0x61 + index).repeat(length));
    const text = `${lines.join("\n")}\n`;
    Deno.writeTextFileSync(`${root}/f`, text);
    const content = async (options: Record<string, unknown>): Promise<unknown> =>
      (await answerOf(read, { filename: "f", max_bytes: 2 ** 21, ...options })).structured["content"];
    const from = (start: number, end: number): string => lines.slice(start, end).map((line) => `${line}\n`).join("");
    for (let count = 1; count <= lines.length; count++) {
      assert.equal(await content({ end_line: count }), from(0, count));
      assert.equal(await content({ tail: count }), from(lines.length - count, lines.length));
      assert.equal(await content({ start_line: count, end_line: count + 1 }), from(count - 1, count + 1));
    }
  }, { limits: { maxReadBytes: 2 * 1024 * 1024 } }));

Deno.test("a place in a line is read in files of any size, and what cannot be decoded is refused with what works", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    const line = "Für die Größe der Straße ".repeat(8);
    const padding = `${line}\n`.repeat(100_000); // some 20 MiB
    const long = `${"ä".repeat(700_000)}NEEDLE${"ö".repeat(700_000)}`;
    Deno.writeTextFileSync(`${root}/utf8`, `${padding}${long}\nend\n`);
    Deno.writeFileSync(`${root}/latin`, Buffer.from(`${padding}${long}\nend\n`, "latin1"));
    Deno.writeFileSync(`${root}/wide`, Buffer.from(`\ufeff${padding}${long}\nend\n`, "utf16le"));
    for (const name of ["utf8", "latin"]) {
      const at = async (place: string) => (await answerOf(read, { filename: `${name}:${place}` })).structured;
      const around = await at("100001:700001");
      assert.match(String(around["content"]), /^ä{1000}NEEDLEö{994}$/, name);
      assert.equal(around["start_line"], 100_001);
      assert.equal((await at("100001:700001-700006"))["content"], "NEEDLE", name);
      assert.equal((await at("100:9"))["content"], line, name);
      assert.equal((await at("100002:1"))["content"], "end", name);
      const { text } = await answerOf(read, { filename: `${name}:100002:50-60` });
      assert.match(text, /line \d+ ends at character 3/);
      assert.match((await answerOf(read, { filename: `${name}:100009:1` })).text, /nothing from line \d+ on/);
    }
    const { message } = await failureOf(read, { filename: "wide:100:99" });
    assert.match(message, /of which at most 16777216 are decoded; file_search finds lines in it \(wide\)$/);
    const found = await answerOf(fileSearchTool(() => workspace, { maxSearchMilliseconds: Infinity }), {
      path: "wide",
      query: "NEEDLE",
    });
    assert.match(found.text, /100001:700001: …/);
  }));

Deno.test("a line that is longer than what is read of it is refused beyond that, not called shorter", () =>
  withWorkspace(async ({ root, workspace }) => {
    const read = fileReadTool(() => workspace);
    Deno.writeTextFileSync(`${root}/a`, "x".repeat(18 * 1024 * 1024));
    const { structured } = await answerOf(read, { filename: "a:1:16000000-16000001" });
    assert.equal(structured["content"], "xx");
    assert.match((await failureOf(read, { filename: "a:1:17000000" })).message, /in the first 16777216; a:-50 gives/);
    await answerOf(read, { filename: "a:-50" });
  }));
