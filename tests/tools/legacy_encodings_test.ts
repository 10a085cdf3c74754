/** Texts in encodings of before UTF-8: read, searched, edited and written back as what they are, small and large. */
import assert from "node:assert/strict";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import { decodeText, encodeText, type TextEncoding } from "../../src/files/text/encoding.ts";
import { answerOf, failureOf, withWorkspace } from "./with_workspace.ts";

/** A text, what is searched in it, and what replaces that. */
type Example = readonly [encoding: TextEncoding, text: string, old: string, replacement: string];

const examples: readonly Example[] = [
  ["windows-1252", "Preis € 12\n", "Preis €", "Kosten „€“"],
  ["windows-1252", "“Quoted” text – a dash, it’s fine\n", "dash, it’s", "dash… it’s"],
  ["windows-1252", "INSERT INTO t VALUES ('Café “X”');\n", "“X”", "“Y”"],
  ["windows-1252", "déjà vu, garçon, œuvre\n", "œuvre", "cœur"],
  ["windows-1252", "name;price\r\nBrötchen;1,20 €\r\nKäse;3,50 €\r\n", "Käse;3,50 €\n", "Käse;4,50 €\n"],
  ["windows-1252", "© 2024 ACME™\n", "ACME™", "ACME®"],
  ["latin1", "Müller, Straße, Köln\n", "Köln", "Ülm"],
  ["latin1", "año señor ¿qué? ¡hola!\n", "¿qué?", "¿cómo?"],
  ["shift_jis", "こんにちは世界\n", "世界", "日本"],
  ["shift_jis", "日本語のテキストファイルです。\r\n名前,値段\r\nりんご,100円\r\n", "りんご", "みかん"],
  ["shift_jis", "東京都千代田区\n", "千代田区", "港区"],
  ["shift_jis", "エラー: 表示できません ソース\n", "ソース", "能力"],
  ["euc-jp", "こんにちは世界\n", "世界", "日本"],
  ["euc-jp", "日本語のテキストファイルです。\n名前,値段\n", "値段", "数量"],
  ["gbk", "你好,世界\n", "世界", "北京"],
  ["gbk", "这是一个中文文本文件。\n姓名,价格\n", "价格", "数量"],
  ["big5", "你好,世界\n", "世界", "台北"],
  ["big5", "這是一個中文文字檔案。\n姓名,價格\n", "價格", "數量"],
  ["euc-kr", "안녕하세요 세계\n", "세계", "서울"],
  ["euc-kr", "이것은 한국어 텍스트 파일입니다.\n이름,가격\n", "가격", "수량"],
  ["windows-1251", "Привет мир\n", "мир", "город"],
  ["windows-1251", "Имя;Цена\nЯблоко;5\n", "Яблоко", "Груша"],
  ["koi8-r", "Привет мир\n", "мир", "город"],
  ["ibm866", "Это текстовый файл на русском языке.\n", "русском", "другом"],
  ["windows-1250", "Zażółć gęślą jaźń\n", "gęślą", "źdźbło"],
  ["windows-1250", "Příliš žluťoučký kůň\n", "kůň", "pes"],
  ["iso-8859-2", "Příliš žluťoučký kůň úpěl ďábelské ódy\n", "ódy", "písně"],
  ["windows-1253", "Αυτό είναι ένα αρχείο κειμένου.\n", "αρχείο", "κείμενο"],
  ["windows-1255", "זהו קובץ טקסט בעברית\n", "טקסט", "שלום"],
  ["windows-1256", "هذا ملف نصي باللغة العربية\n", "ملف", "كتاب"],
  ["iso-2022-jp", "こんにちは世界\n", "世界", "日本"],
  ["iso-2022-jp", "件名: テスト (test) です。\r\nname,日本語,値段\r\n", "日本語", "ascii"],
  ["iso-8859-15", "Preis: 12 €\n", "12 €", "15 €"],
  ["iso-8859-15", "Le cœur et l'œuvre, déjà\n", "cœur", "sœur"],
  ["utf-16le", "这是一个中文文本文件，内容没有任何拉丁字母。", "中文", "日文"],
  ["utf-16be", "这是一个中文文本文件，内容没有任何拉丁字母。", "中文", "日文"],
  ["utf-16le", "這是第一行中文。\n第二行也是中文。\n", "第二行", "第三行"],
  ["utf-16be", "你好，世界", "世界", "中国"],
  ["utf-16le", "日本語の本文です。改行はありません。", "本文", "文字"],
  ["utf-16le", "Größe: 5 €\r\nplain\r\n", "Größe", "Länge"],
  ["utf-16be", "plain text\nof two lines\n", "two", "drei €"],
  ["utf-16le", "こんにちは世界\n", "世界", "日本"],
  ["utf-16le", "Привет мир\n", "мир", "город"],
];

for (const [encoding, text, old, replacement] of examples) {
  for (const [size, repeats] of [["small", 1], ["repeated", 40], ["large", 1]] as const) {
    Deno.test(`${size}: ${JSON.stringify(text.slice(0, 24))} in ${encoding} is read, searched, edited and written back`, () =>
      withWorkspace(async ({ root, workspace }) => {
        const isWide = encoding.startsWith("utf-16");
        if (isWide && size === "large") return;
        const filler = size === "large" ? "plain ascii line\n".repeat(100_000) : "";
        const all = filler + text.repeat(repeats);
        const bytes = encodeText(all, encoding);
        assert.ok(bytes !== null);
        await Deno.writeFile(`${root}/f.txt`, bytes);
        const range = size === "large" ? { tail: 5 } : {};
        const read = await answerOf(fileReadTool(() => workspace), { filename: "f.txt", ...range });
        assert.equal(read.structured["encoding"], encoding);
        const content = String(read.structured["content"]);
        assert.ok(all.endsWith(content) && content.includes(old.split("\n")[0] ?? ""), content);
        const query = old.replace(/\n.*/s, "");
        const found = await answerOf(fileSearchTool(() => workspace), { query });
        assert.ok(found.text.includes(query), found.text);
        const edit = { path: "f.txt", old_text: old, new_text: replacement, replace_all: true };
        await answerOf(fileEditTool(() => workspace), edit);
        const styled = (part: string) => all.includes("\r\n") ? part.replaceAll("\n", "\r\n") : part;
        const expected = all.replaceAll(styled(old), styled(replacement));
        assert.deepEqual(await Deno.readFile(`${root}/f.txt`), encodeText(expected, encoding));
      }));
  }
}

Deno.test("a character that the encoding lacks is named before anything is written", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (
      const [encoding, text] of [["latin1", "größe\n"], ["shift_jis", "こんにちは世界 größe\n"], [
        "koi8-r",
        "Привет\n",
      ]] as const
    ) {
      const bytes = encodeText(text.replaceAll(/[öß]/g, (each) => encoding === "latin1" ? each : "x"), encoding);
      assert.ok(bytes !== null);
      await Deno.writeFile(`${root}/f`, bytes);
      const line = (await answerOf(fileReadTool(() => workspace), { filename: "f" })).structured["content"];
      const edit = { path: "f", old_text: line, new_text: `${line}ok 한 ok\n` };
      const refused = await failureOf(fileEditTool(() => workspace), edit);
      assert.match(refused.message, new RegExp(`encoding \\(${encoding}\\) has no "한"`));
      const write = await failureOf(fileWriteTool(() => workspace), { filename: "f", content: "한\n" });
      assert.match(write.message, new RegExp(`encoding \\(${encoding}\\) has no "한"`));
      assert.deepEqual(await Deno.readFile(`${root}/f`), new Uint8Array(bytes));
    }
  }));

Deno.test("an edit leaves the bytes of other lines as they are, also where a character has several codes", () =>
  withWorkspace(async ({ root, workspace }) => {
    // NEC's and IBM's second codes for characters that JIS X 0208 has, too
    const odd = Uint8Array.of(0x87, 0x90, 0xed, 0x40, 0xfa, 0x4a, 0x0a);
    const [before, after] = ["日本語のテキスト\n", "終わりの行です\n"].map((each) => encodeText(each, "shift_jis"));
    await Deno.writeFile(`${root}/f`, Buffer.concat([before ?? odd, odd, after ?? odd]));
    await answerOf(fileEditTool(() => workspace), { path: "f", old_text: "終わり", new_text: "最後" });
    const changed = encodeText("最後の行です\n", "shift_jis");
    assert.deepEqual(
      await Deno.readFile(`${root}/f`),
      new Uint8Array(Buffer.concat([before ?? odd, odd, changed ?? odd])),
    );
  }));

Deno.test("what is binary is no text in any encoding", async () => {
  const random = crypto.getRandomValues(new Uint8Array(4_000));
  for (
    const bytes of [random, random.map((byte) => byte || 1)]
  ) {
    assert.equal(await decodeText(bytes), null);
  }
});

Deno.test("append and file_edit judge alike whether a file is a text", () =>
  withWorkspace(async ({ root, workspace }) => {
    const [write, edit] = [fileWriteTool(() => workspace), fileEditTool(() => workspace)];
    const random = crypto.getRandomValues(new Uint8Array(4_000));
    const long = new TextEncoder().encode(`x${"ü".repeat(20_000)}\n`); // what is looked at ends within a character
    const files: readonly (readonly [Uint8Array, isText: boolean])[] = [
      [utf32("Hello wörld\n", true), false],
      [utf32("\ufeff你好，世界", false), false],
      [random, false],
      [random.map((byte) => byte || 1), false],
      [new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d]), false],
      [new Uint8Array(), true],
      [long, true],
      [new TextEncoder().encode("plain with one \0 in it, and more\n"), true],
      [encodeText("\ufeffWide\r\n", "utf-16be") ?? random, true],
      [encodeText("naïve Œdipe\n", "windows-1252") ?? random, true],
    ];
    for (const [bytes, isText] of files) {
      await Deno.writeFile(`${root}/f`, bytes);
      const edited = await failureOf(edit, { path: "f", old_text: "not there", new_text: "x" });
      assert.equal(edited.code !== "not_text", isText, edited.message);
      if (isText) {
        await answerOf(write, { filename: "f", content: "more\n", mode: "append" });
        continue;
      }
      const refused = await failureOf(write, { filename: "f", content: "more\n", mode: "append" });
      assert.equal(refused.message.replace("write", "edit"), edited.message);
      const files = [{ filename: "f", content: "more" }];
      await failureOf(write, { filename: "g", content: "new", mode: "append", files });
      assert.deepEqual(await Deno.readFile(`${root}/f`), bytes);
      assert.deepEqual(Array.from(Deno.readDirSync(root), ({ name }) => name).filter((name) => name === "g"), []);
    }
  }));

Deno.test("a text that is kept in its encoding and shows it no more says how it is read", () =>
  withWorkspace(async ({ root, workspace }) => {
    const [read, edit, write] = [
      fileReadTool(() => workspace),
      fileEditTool(() => workspace),
      fileWriteTool(() => workspace),
    ];
    const before: readonly (readonly [TextEncoding, string])[] = [
      ["windows-1251", "# настройки сервера\nимя=Иван\nгород=Москва\n"],
      ["shift_jis", "名前=太郎\n住所=東京都\n"],
      ["euc-kr", "이름=홍길동\n도시=서울\n설명=설정 파일입니다\n"],
      ["big5", "名稱=測試\n城市=台北\n備註=這是設定檔案\n"],
      ["windows-1252", "name=Müller\nstraße=Köln €\n"],
    ];
    let unclear = 0;
    for (const [encoding, text] of before) {
      for (
        const content of [
          text,
          "name=Пётр\ncity=Омск\n",
          "name=太郎\n",
          "name=홍길동\n",
          "name=測試\n",
          "x=é\n",
          "plain\n",
        ]
      ) {
        if (encodeText(content, encoding) === null) continue;
        await Deno.writeFile(`${root}/f`, encodeText(text, encoding) ?? new Uint8Array());
        const written = [await answerOf(write, { filename: "f", content })];
        await Deno.writeFile(`${root}/f`, encodeText(text, encoding) ?? new Uint8Array());
        written.push(await answerOf(edit, { path: "f", old_text: text, new_text: `${content}#` }));
        for (const [index, { text: answer }] of written.entries()) {
          const expected = index === 0 ? content : `${content}#`;
          await Deno.writeFile(`${root}/f`, encodeText(expected, encoding) ?? new Uint8Array());
          const again = await answerOf(read, { filename: "f" });
          const remedy = /file_read needs encoding (\S+) to read it/.exec(answer)?.[1];
          assert.equal(again.text === expected, remedy === undefined, `${encoding} ${expected} ${answer}`);
          if (remedy === undefined) continue;
          unclear++;
          assert.equal((await answerOf(read, { filename: "f", encoding: remedy })).text, expected);
        }
      }
    }
    assert.ok(unclear > 4, String(unclear));
  }));

Deno.test("a text in place of a binary file takes nothing of its form", () =>
  withWorkspace(async ({ root, workspace }) => {
    for (const bytes of [[0x89, 0x50, 13, 10, 26, 10], [13, 10, 13, 10, 0xfe], [0xff, 0xd8, 0, 0, 13, 10]]) {
      const rest = Array.from({ length: 80 }, (_, index) => (index * 37 + 128) % 256).filter((byte) => byte !== 10);
      await Deno.writeFile(`${root}/f`, new Uint8Array([...bytes, ...rest]));
      const { structured } = await answerOf(fileWriteTool(() => workspace), { filename: "f", content: "é\nx\n" });
      assert.deepEqual([await Deno.readTextFile(`${root}/f`), structured["note"]], ["é\nx\n", undefined]);
    }
  }));

/** Each character as four bytes. */
function utf32(text: string, isLittle: boolean): Uint8Array<ArrayBuffer> {
  const codes = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  const view = new DataView(new ArrayBuffer(4 * codes.length));
  codes.forEach((code, index) => view.setUint32(4 * index, code, isLittle));
  return new Uint8Array(view.buffer);
}

Deno.test("UTF-32, which is not decoded, is refused by name", () =>
  withWorkspace(async ({ root, workspace }) => {
    const [read, edit] = [fileReadTool(() => workspace), fileEditTool(() => workspace)];
    for (const text of ["Hello wörld\n", "你好，世界", "Привет 😀\r\n", `${"long ".repeat(5_000)}\n`]) {
      for (const isLittle of [true, false]) {
        for (const mark of ["\ufeff", ""]) {
          const bytes = utf32(mark + text, isLittle);
          await Deno.writeFile(`${root}/f`, bytes);
          assert.match((await failureOf(read, { filename: "f" })).message, /seems to be UTF-32.*save it as UTF-8/);
          const refused = await failureOf(edit, { path: "f", old_text: "H", new_text: "h" });
          assert.match(refused.message, /seems to be UTF-32/);
          assert.deepEqual(await Deno.readFile(`${root}/f`), bytes);
        }
      }
    }
  }));

Deno.test("texts of the encodings of Windows are never taken for those that differ from them in a few places", async () => {
  const texts: readonly (readonly [TextEncoding, string])[] = [
    ["windows-1252", "wait…what – word—word don’t “x”\n"],
    ["windows-1252", "Škoda je muž\n"],
    ["windows-1252", "nº 5, 1ª edição — não\n"],
    ["windows-1252", "naïve Œdipe™ ©2020 ®, 5 €\n"],
    ["windows-1250", "może źle\n"],
    ["windows-1254", "Çok güzel ığdır şeker\n"],
    ["latin1", "Ünïcödé ½cup 5°C m² £5 ¿qué? 1½ h\n"],
    ["latin1", "l´homme à Paris, Àlex Ébène\n"],
    ["latin1", "caféteria\n"],
    ["latin1", "ÄÖÜ GRÖSSE\n"],
    ["utf-8", "plain\n\u001b[31mred\u001b(B\u001b[m $B\n"],
    ["utf-8", "abcdefgh"],
    ["utf-8", "\u4f60\u597d"],
  ];
  for (const [encoding, text] of texts) {
    const bytes = encodeText(text, encoding);
    assert.ok(bytes !== null);
    assert.deepEqual(await decodeText(bytes), { text, encoding }, text);
  }
});
