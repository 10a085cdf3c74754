import assert from "node:assert/strict";
import { loadConfig } from "../../src/app/config/config.ts";
import { formatDirectory, nameOfPath, parseNamedDirectories } from "../../src/app/config/directories.ts";

Deno.test("parseNamedDirectories() reads names, paths with any character, and what is read-only", () => {
  const cases: [
    text: string,
    expected: readonly [name: string, path: string, isReadOnly?: boolean][] | string | null,
  ][] = [
    ["~/mcp-workspace", null],
    ["/srv/a=b", null],
    ["./a=b", null],
    ["~/a=b,c=d", null],
    ["C:\\files", null],
    ["C:\\a=b", null],
    ["notes=~/notes", [["notes", "~/notes"]]],
    ["notes=~/notes,code=~/code:ro", [["notes", "~/notes"], ["code", "~/code", true]]],
    [" notes = ~/notes , code = ~/code:ro ", [["notes", "~/notes"], ["code", "~/code", true]]],
    ["a=/x,y", [["a", "/x,y"]]],
    ["a=/x,y,b=/z", [["a", "/x,y"], ["b", "/z"]]],
    ["a=/x=y:z", [["a", "/x=y:z"]]],
    ['a="/x,b=/y"', [["a", "/x,b=/y"]]],
    ['a="/x:ro",b="/y":ro', [["a", "/x:ro"], ["b", "/y", true]]],
    ["a=/x:ro:rw", [["a", "/x:ro"]]],
    ['a="say ""x"""', [["a", 'say "x"']]],
    ["a=C:\\files:ro,b=D:\\", [["a", "C:\\files", true], ["b", "D:\\"]]],
    ["Verträge 2026=/v", [["Verträge 2026", "/v"]]],
    ["a=", "must be"],
    ["a=,b=/x", "must be"],
    ['a="/x', "must be"],
    ['a="/x"y', "must be"],
    ["a=/x,a=/y", "twice"],
    ["a=/x,A=/y", "twice"],
    [Array.from({ length: 33 }, (_, index) => `d${index}=/x`).join(), "more than 32"],
  ];
  for (const [text, expected] of cases) {
    const parsed = parseNamedDirectories(text);
    if (expected === null) assert.equal(parsed, null, text);
    else if (typeof expected === "string") assert.ok(parsed?.ok === false && parsed.error.includes(expected), text);
    else {
      assert.ok(parsed?.ok, text);
      const directories = expected.map(([name, path, isReadOnly = false]) => ({ name, path, isReadOnly }));
      assert.deepEqual(parsed.value, directories, text);
      const again = parseNamedDirectories(directories.map(formatDirectory).join());
      assert.ok(again?.ok, text);
      assert.deepEqual(again.value, directories, text);
    }
  }
});

Deno.test("nameOfPath() gives a name that can be written", () => {
  assert.equal(nameOfPath("/home/ann/mcp-workspace"), "mcp-workspace");
  assert.equal(nameOfPath("/home/ann/.hidden"), "workspace");
  assert.equal(nameOfPath("/"), "workspace");
});

Deno.test("WORKSPACE_DIR: named directories that hold or share what must stay apart are refused, each with its path", () => {
  const load = (dir: string, env: Record<string, string> = {}, added = "") =>
    loadConfig({
      flags: {},
      env: { DATA_DIR: "/srv/pc/data", WORKSPACE_DIR: dir, ...env },
      readFile: () => "",
      home: () => "/home/ann",
      readAdded: () => {
        const parsed = parseNamedDirectories(added);
        return parsed?.ok ? parsed : { ok: true, value: [] };
      },
    });
  const refused: [dir: string, hint: RegExp, env?: Record<string, string>][] = [
    ["a=/srv/pc/data", /lies in the data directory/],
    ["a=/srv/pc/data/files", /lies in the data directory/],
    ["a=/srv/pc", /holds .srv.pc.data .DATA_DIR/],
    ["a=/", /DATA_DIR|system/],
    ["a=/etc", /system/],
    ["a=/etc/ssl", /system/],
    ["a=/usr/share/x:ro", /system/],
    ["a=/home", /system/],
    ["a=/var", /system/],
    ["a=/proc/self/root/x", /system/],
    ["a=/srv/x,b=/srv/x/y:ro", /overlaps the directory a/],
    ["a=/srv/x/y,b=/srv/x", /overlaps/],
    ["a=/srv/x,b=/srv/x", /overlaps/],
    ["a=~/x,b=/home/ann/X", /overlaps/],
    ["a=/srv/x", /WORKSPACE_STORE/, { WORKSPACE_STORE: "storage" }],
    ["a=/srv/x,b=/srv/keys", /holds .srv.keys/, { TLS_CERT_FILE: "/srv/keys/c", TLS_KEY_FILE: "/srv/keys/k" }],
  ];
  for (const [dir, hint, env] of refused) {
    const loaded = load(dir, env);
    assert.ok(!loaded.ok, dir);
    assert.ok(loaded.error.some((problem) => hint.test(problem.hint)), JSON.stringify(loaded.error));
  }
  const loaded = load("notes=~/notes,code=/srv/code:ro", {}, "more=/srv/more");
  assert.ok(loaded.ok, JSON.stringify(loaded));
  assert.equal(loaded.value.workspace.dir, "notes=/home/ann/notes,code=/srv/code:ro");
  assert.deepEqual(loaded.value.workspace.directories.map(({ name, isAdded }) => [name, isAdded]), [
    ["notes", false],
    ["code", false],
    ["more", true],
  ]);
  const one = load("~/files", {}, "more=/srv/more:ro");
  assert.ok(one.ok);
  assert.deepEqual([one.value.workspace.dir, one.value.workspace.directories.map(({ name }) => name)], [
    "/home/ann/files",
    ["files", "more"],
  ]);
});
