/** What nobody expects in a directory, over HTTP: masses, depths, holes and names of any bytes. Answers stay bounded. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { postMcp } from "../fixtures/mcp_call.ts";
import { withFileServer } from "../fixtures/file_server.ts";
import { ownMounts, withMounts } from "../fixtures/own_mounts.ts";
import { needsPrograms } from "../fixtures/skipped_unless.ts";

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;
const manyFiles = 'for (0..99999) { open(F, ">", sprintf("file-%05d", $_)) or die; close F; }';
/** Control characters besides the line ends of an answer's own. */
const controls = /[\p{Cc}\u2028\u2029]/u;

interface Listed {
  readonly entries: readonly { readonly name: string; readonly kind: string }[];
  readonly next_cursor?: string;
}

/** The cursor, as if the page before had ended at this entry. */
function movedTo(cursor: string, name: string): string {
  const position = Buffer.from(cursor, "base64url").toString().replace(/"file-\d+"/, JSON.stringify(name));
  return Buffer.from(position).toString("base64url");
}

Deno.test({
  ...needsPrograms(
    ["perl"],
    "100,000 files in one directory are listed page by page, found by name, and cost little memory",
  ),
  fn: () =>
    withFileServer({
      ...ownMounts === null ? { fill: (root) => runPerl(root, manyFiles) } : {
        launcher: withMounts(
          `mount -t tmpfs none "$WORKSPACE_DIR"; cd "$WORKSPACE_DIR"; perl -e '${manyFiles}'; cd "$OLDPWD"`,
        ),
      },
    }, async ({ done, peakMemory, server, token }) => {
      const before = peakMemory();
      const seen: string[] = [];
      let next: string | undefined;
      do {
        const page = await done("file_list", next === undefined ? {} : { cursor: next });
        const { entries, next_cursor } = page.structured as unknown as Listed;
        assert.ok(entries.length <= 1000 && page.text.length < 100_000);
        seen.push(...entries.map(({ name }) => name));
        next = next_cursor;
        // the first pages one after the other, then where the last ones begin
        if (seen.length === 3000) next = movedTo(String(next), nameOf(97_999));
      } while (next !== undefined);
      assert.deepEqual(seen, [...range(0, 3000), ...range(98_000, 100_000)].map(nameOf));
      const first = await done("file_search", { pattern: "*-99999" });
      const cursor = movedTo(String(first.structured["next_cursor"]), nameOf(94_999));
      assert.match((await done("file_search", { pattern: "*-99999", cursor })).text, /file-99999/);
      assert.equal((await done("file_read", { filename: nameOf(54_321) })).structured["size_bytes"], 0);
      const response = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "resources/list", params: {} }, {
        token,
      });
      const { result } = await response.json();
      assert.ok(result.resources.length <= 1000 && typeof result.nextCursor === "string");
      assert.ok(peakMemory() - before < gibibyte, `${(peakMemory() - before) / mebibyte} MiB`);
    }),
});

Deno.test("a place in a file of one line of 3 MB is found with its column, and read around it", () =>
  withFileServer({
    fill(root) {
      const code = 'f("é",1);'.repeat(150_000);
      Deno.writeTextFileSync(`${root}/app.min.js`, `${code}var needle=1;${code}`);
    },
  }, async ({ done }) => {
    for (const request of [{ query: "needle" }, { query: ";var\\s+needle=\\d", regex: true }]) {
      const found = await done("file_search", request);
      assert.match(found.text, /^app\.min\.js\n1:\d+: …/);
      assert.match(found.text, /1 line(, at least 1 match)? in 1 file/);
    }
    const found = await done("file_search", { query: "needle" });
    const [, place = ""] = /^(1:\d+): /m.exec(found.text) ?? [];
    assert.equal(place, `1:${9 * 150_000 + 5}`);
    assert.match((await done("file_read", { filename: `app.min.js:${place}` })).text, /characters 1349005 to 1351004/);
    const exact = await done("file_read", { filename: "app.min.js:1:1350001-1350013" });
    assert.equal(exact.structured["content"], "var needle=1;");
  }));

Deno.test("a sparse file of 10 GiB is read at its ends and in parts, and is never loaded", () =>
  withFileServer({
    fill(root) {
      using file = Deno.openSync(`${root}/huge`, { write: true, createNew: true });
      file.writeSync(new TextEncoder().encode("first\nsecond\n"));
      file.seekSync(10 * gibibyte - 12, Deno.SeekMode.Start);
      file.writeSync(new TextEncoder().encode("\nbefore\nlast"));
    },
  }, async ({ done, call, refused, peakMemory, server, token }) => {
    const before = peakMemory();
    assert.match((await done("file_list", { show: "details" })).text, /^huge 11G /m);
    assert.equal((await done("file_read", { filename: "huge", head: 2 })).structured["content"], "first\nsecond\n");
    assert.equal((await done("file_read", { filename: "huge", tail: 2 })).structured["content"], "before\nlast");
    assert.equal(
      (await done("file_read", { filename: "huge", start_line: 2, end_line: 2 })).structured["content"],
      "second\n",
    );
    // the third line is 10 GiB of zeros: whatever is answered is bounded
    for (const input of [{}, { head: 3 }, { tail: 3 }, { start_line: 3 }, { start_line: 4, end_line: 5 }]) {
      const { text } = await call("file_read", { filename: "huge", ...input });
      assert.ok(text.length < 30 * mebibyte, `${JSON.stringify(input)}: ${text.length}`);
    }
    await refused("file_read", { filename: "huge", embed: true });
    await refused("file_move", { copy: true, filename: "huge", destination: "copy" });
    await refused("file_edit", { filename: "huge", old_text: "first", new_text: "x" });
    await refused("file_write", { filename: "huge", content: "x", mode: "append" });
    const { structured } = await done("file_search", { query: "last" });
    assert.deepEqual(structured["matches"], []);
    assert.equal(structured["files_passed_over"], 1);
    const params = { uri: "workspace:///huge" };
    const response = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "resources/read", params }, { token });
    assert.match((await response.json()).error.message, /bytes/);
    await done("file_move", { filename: "huge", destination: "moved" });
    await done("file_delete", { filename: "moved" });
    assert.ok(peakMemory() - before < gibibyte, `${(peakMemory() - before) / mebibyte} MiB`);
  }));

Deno.test({
  ...needsPrograms(
    ["perl"],
    "directories nested beyond PATH_MAX are listed and searched as far as the system goes, moved and deleted",
  ),
  fn: () =>
    withFileServer({
      env: { WORKSPACE_QUOTA_BYTES: "1000000000" }, // makes every write measure the whole tree
      fill: (root) =>
        runPerl(
          root,
          `
        mkdir "deep"; chdir "deep"; open(F, ">top"); print F "found"; close F;
        for (1..40) { mkdir "n" x 200; chdir "n" x 200; }
        open(F, ">bottom"); print F "found"; close F;`,
        ),
    }, async ({ done, call, refused, server }) => {
      assert.match((await done("file_list", { depth: 64 })).text, /^deep\/\n[^]*^ {2}top$/m);
      assert.match((await done("file_search", { query: "found" })).text, /deep\/top/);
      await done("file_search", { pattern: "bottom" });
      for (const levels of [10, 19, 20, 21, 30]) {
        const path = `deep/${Array(levels).fill("n".repeat(200)).join("/")}`;
        for (const tool of ["file_read", "file_delete"]) await call(tool, { filename: `${path}/bottom` });
        await call("file_list", { path });
        await call("file_write", { filename: `${path}/new`, content: "x" });
        await call("file_move", { destination: `${path}/new/directory` });
      }
      await done("file_write", { filename: "beside", content: "x" });
      await refused("file_move", { filename: "deep", destination: "deep/inside" });
      await done("file_move", { filename: "deep", destination: "moved" });
      const { text } = await call("file_delete", { filename: "moved", recursive: true });
      assert.doesNotMatch(text, /internal|unknown error|os error/i);
      assert.equal((await done("file_read", { filename: "beside" })).structured["content"], "x");
      assert.doesNotMatch(server.stderr(), /crashed|request_failed/);
    }),
});

Deno.test({
  ...needsPrograms(
    ["perl"],
    "names of arbitrary bytes are listed safely, leave the others usable, and are deleted with their directory",
  ),
  fn: () =>
    withFileServer({
      fill: (root) =>
        runPerl(
          root,
          `
        srand(7);
        mkdir "d"; chdir "d";
        for my $n (1..300) {
          my $name = join "", map { chr(1 + int(rand(255))) } 1..(1 + int(rand(40)));
          $name =~ s{/}{_}g;
          next if $name eq "." || $name eq "..";
          if ($n % 10 == 0) { mkdir $name; open(F, ">$name/inside"); } else { open(F, ">$name"); }
          print F "text of $n"; close F;
        }
        open(F, ">plain"); print F "text"; close F;`,
        ),
    }, async ({ done, call, server, token, root }) => {
      const count = Array.from(Deno.readDirSync(`${root}/d`)).length;
      assert.ok(count > 250);
      for (const input of [{ path: "d" }, { path: "d", show: "details" }, { depth: 64 }, { pattern: "**" }]) {
        const { text, structured } = await done("file_list", { ...input, limit: 1000 });
        for (const line of text.split("\n")) assert.doesNotMatch(line, controls);
        assert.ok((structured as unknown as Listed).entries.length >= count);
      }
      const { entries } = (await done("file_list", { path: "d", limit: 1000 })).structured as unknown as Listed;
      for (const { name } of entries) {
        const { text } = await call("file_read", { filename: `d/${name}` });
        for (const line of text.split("\n")) assert.doesNotMatch(line, controls);
      }
      for (const input of [{ query: "text" }, { pattern: "*" }, { query: "text", path: "d" }]) {
        const { text } = await done("file_search", { ...input, limit: 1000 });
        for (const line of text.split("\n")) assert.doesNotMatch(line, controls);
        assert.match(text, /d\/plain/);
      }
      const response = await postMcp(server.url, { jsonrpc: "2.0", id: 1, method: "resources/list", params: {} }, {
        token,
      });
      for (const { uri, name } of (await response.json()).result.resources) {
        assert.ok(URL.canParse(uri));
        assert.doesNotMatch(uri + name, controls);
      }
      await done("file_delete", { filename: "d", recursive: true });
      assert.deepEqual(Array.from(Deno.readDirSync(root), ({ name }) => name), [".portcullis"]);
    }),
});

function nameOf(n: number): string {
  return `file-${String(n).padStart(5, "0")}`;
}

function range(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, index) => start + index);
}

async function runPerl(directory: string, script: string): Promise<void> {
  const { success, stderr } = await new Deno.Command("perl", { args: ["-e", script], cwd: directory }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}
