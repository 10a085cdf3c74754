/** `connect CLIENT --write` and `--remove`: a client's own file changes by one entry, and is as it was afterwards. */
import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { createScanner, parse as parseJsonc } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { clientFormats, type Connection } from "../../src/lib/client_configurations.ts";
import { changeClientFile, jsonEntry, tomlEntry } from "../../src/cli/client_file.ts";

const connection: Connection = { kind: "http", serverUrl: "https://mcp.example.com" };
const overStdio: Connection = {
  kind: "stdio",
  command: "/opt/portcullis",
  args: ["stdio", "--data-dir", "/d", "--workspace", "/w"],
};
const entry = { url: "https://mcp.example.com/mcp" };

interface Client {
  readonly name: string;
  readonly env?: Record<string, string>;
  readonly os?: typeof Deno.build.os;
  readonly connection?: Connection;
  readonly isRemoved?: boolean;
  readonly isAgreed?: boolean;
  readonly ask?: (question: string) => Promise<boolean>;
}

async function withHome(run: (home: string) => Promise<void>): Promise<void> {
  const home = await Deno.makeTempDir({ prefix: "portcullis-connect-" });
  try {
    await run(home);
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

async function change(home: string, client: Client): Promise<{ status: number; said: string }> {
  const format = clientFormats.find(({ name }) => name === client.name);
  assert.ok(format?.file);
  let said = "";
  const status = await changeClientFile(
    {
      title: format.title,
      file: format.file,
      entry: client.isRemoved ? null : format.file.entry(client.connection ?? connection),
      isAgreed: client.isAgreed ?? true,
      next: "",
    },
    { os: client.os ?? "linux", env: { HOME: home, ...client.env }, ask: client.ask ?? null },
    (text) => void (said += text),
  );
  return { status, said };
}

async function filesBelow(directory: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    if (isDirectory) found.push(...(await filesBelow(join(directory, name))).map((each) => `${name}/${each}`));
    else found.push(name);
  }
  return found.sort();
}

const onLinux: Record<string, string> = {
  "claude-code": ".claude.json",
  "claude-desktop": ".config/Claude/claude_desktop_config.json",
  cursor: ".cursor/mcp.json",
  vscode: ".config/Code/User/mcp.json",
  codex: ".codex/config.toml",
  gemini: ".gemini/settings.json",
  opencode: ".config/opencode/opencode.json",
  zed: ".config/zed/settings.json",
  windsurf: ".codeium/windsurf/mcp_config.json",
  cline: ".cline/data/settings/cline_mcp_settings.json",
  "lm-studio": ".lmstudio/mcp.json",
  "copilot-cli": ".copilot/mcp-config.json",
};

Deno.test("connect --write makes the file of each client, over HTTP and stdio, and --remove removes it", async () => {
  const clients = clientFormats.filter(({ file }) => file !== undefined).map(({ name }) => name);
  assert.deepEqual(clients.toSorted(), Object.keys(onLinux).sort());
  for (const name of clients) {
    for (const each of [connection, overStdio, { ...connection, tokenVariable: "TOKEN" }] as const) {
      await withHome(async (home) => {
        const { status, said } = await change(home, { name, connection: each });
        assert.equal(status, 0, said);
        assert.deepEqual(await filesBelow(home), [onLinux[name]]);
        const text = await Deno.readTextFile(join(home, onLinux[name] ?? ""));
        const keys = clientFormats.find((format) => format.name === name)?.file?.keys ?? [];
        const whole: unknown = name === "codex" ? parseToml(text) : JSON.parse(text);
        const found = keys.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], whole);
        assert.deepEqual(plain(found), clientFormats.find((format) => format.name === name)?.file?.entry(each));
        assert.equal((await change(home, { name, connection: each })).status, 0, "again");
        assert.equal(await Deno.readTextFile(join(home, onLinux[name] ?? "")), text);
        assert.equal((await change(home, { name, isRemoved: true })).status, 0);
        assert.deepEqual(await filesBelow(home), [], name);
      });
    }
  }
});

Deno.test("connect --write finds the file by platform, by variables, and as it is there", async () => {
  const cases: [Client, string][] = [
    [{ name: "claude-desktop", os: "darwin" }, "Library/Application Support/Claude/claude_desktop_config.json"],
    [{ name: "vscode", os: "darwin" }, "Library/Application Support/Code/User/mcp.json"],
    [{ name: "zed", os: "darwin" }, ".config/zed/settings.json"],
    [{ name: "zed", env: { XDG_CONFIG_HOME: "HOME/x" } }, "x/zed/settings.json"],
    [{ name: "codex", env: { CODEX_HOME: "HOME/c" } }, "c/config.toml"],
    [{ name: "claude-code", env: { CLAUDE_CONFIG_DIR: "HOME/d" } }, "d/.claude.json"],
    [
      { name: "vscode", os: "windows", env: { USERPROFILE: "HOME", APPDATA: "HOME/AppData/Roaming" } },
      "AppData/Roaming/Code/User/mcp.json",
    ],
    [{ name: "cursor", os: "windows", env: { USERPROFILE: "HOME" } }, ".cursor/mcp.json"],
  ];
  for (const [client, expected] of cases) {
    await withHome(async (home) => {
      const env = Object.fromEntries(
        Object.entries(client.env ?? {}).map(([name, value]) => [name, value.replace("HOME", home)]),
      );
      assert.equal((await change(home, { ...client, env })).status, 0);
      assert.deepEqual(await filesBelow(home), [expected]);
    });
  }
  await withHome(async (home) => {
    const file = join(home, ".config/opencode/opencode.jsonc");
    await Deno.mkdir(join(home, ".config/opencode"), { recursive: true });
    await Deno.writeTextFile(file, '{\n  // mine\n  "theme": "x",\n}\n');
    assert.equal((await change(home, { name: "opencode" })).status, 0);
    const [left, backup, ...more] = await filesBelow(home);
    assert.deepEqual([left, more], [".config/opencode/opencode.jsonc", []]);
    assert.match(backup ?? "", /opencode\.jsonc\.portcullis-backup-20/);
    assert.match(
      await Deno.readTextFile(file),
      /^\{\n {2}"mcp": \{\n {4}"servers": \{\n[^]*\},\n {2}\/\/ mine\n {2}"theme": "x",\n\}\n$/,
    );
  });
});

const jsonFile =
  '\ufeff{\r\n\t// theme\r\n\t"theme": "dark", // dark\r\n\t"mcpServers": {"other": {"command": "o"}} /* end */\r\n}\r\n';

Deno.test("connect --write keeps mode, link, comments, line ends and the old file; --remove undoes it to the byte", async () => {
  await withHome(async (home) => {
    const [file, target] = [join(home, ".cursor/mcp.json"), join(home, "dotfiles.json")];
    await Deno.mkdir(join(home, ".cursor"));
    await Deno.writeTextFile(target, jsonFile, { mode: 0o640 });
    await Deno.chmod(target, 0o640);
    await Deno.symlink(target, file);
    const { status, said } = await change(home, { name: "cursor" });
    assert.equal(status, 0, said);
    assert.match(said, /\+ .*portcullis/);
    assert.ok((await Deno.lstat(file)).isSymlink);
    assert.equal(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o640);
    const [backup = ""] = (await filesBelow(home)).filter((name) => name.includes(".portcullis-backup-"));
    assert.equal(await Deno.readTextFile(join(home, backup)), jsonFile);
    const written = await Deno.readTextFile(target);
    assert.ok(written.startsWith('\ufeff{\r\n\t// theme\r\n\t"theme": "dark", // dark\r\n'));
    assert.ok(written.endsWith(', "other": {"command": "o"}} /* end */\r\n}\r\n'));
    assert.deepEqual(parseJsonc(written.slice(1)).mcpServers, { other: { command: "o" }, portcullis: entry });
    const elsewhere = await change(home, {
      name: "cursor",
      connection: { kind: "http", serverUrl: "https://b.example" },
    });
    assert.match(elsewhere.said, /replaces the entry that connect wrote before/);
    assert.equal((await change(home, { name: "cursor", isRemoved: true })).status, 0);
    assert.equal(await Deno.readTextFile(target), jsonFile);
    assert.ok((await Deno.lstat(file)).isSymlink);
    assert.match((await change(home, { name: "cursor", isRemoved: true })).said, /no entry of Portcullis/);
  });
});

Deno.test("connect --write changes nothing unless it was agreed to", async () => {
  await withHome(async (home) => {
    const unasked = await change(home, { name: "codex", isAgreed: false });
    assert.equal(unasked.status, 1);
    assert.match(unasked.said, /\+ \[mcp_servers\.portcullis\]\n\+ url = [^]*--yes/);
    const refused = await change(home, { name: "codex", isAgreed: false, ask: () => Promise.resolve(false) });
    assert.match(refused.said, /Nothing was changed/);
    assert.deepEqual(await filesBelow(home), []);
    const agreed = await change(home, { name: "codex", isAgreed: false, ask: () => Promise.resolve(true) });
    assert.equal(agreed.status, 0);
  });
});

Deno.test("connect --write refuses broken files, foreign entries and files that changed meanwhile, untouched", async () => {
  const cases: [string, string | Uint8Array, RegExp][] = [
    ["cursor", '{\n  "a": 1,\n  "b": }\n', /line 3: the file is not valid JSON/],
    ["cursor", '{"a": 1', /not valid JSON/],
    ["cursor", "[]", /line 1: the file does not hold a JSON object/],
    ["cursor", '{\n"mcpServers": []}', /line 2: "mcpServers" is not an object/],
    ["cursor", '{"mcpServers": {"portcullis": {"command": "theirs"}}}', /connect did not write:\n.*theirs/],
    ["cursor", new Uint8Array([0x7b, 0xff, 0x7d]), /not UTF-8/],
    ["cursor", '{"a":'.repeat(100_000), /line 1: /],
    ["codex", 'a = 1\nb = """\n[mcp_servers.portcullis]\n', /line 2: .*a text does not end/],
    ["codex", 'a = 1\nb = "open\n', /line 2: the file is not valid TOML/],
    ["codex", 'mcp_servers = { other = { url = "x" } }\n', /line 1: .*does not change/],
    ["codex", '[mcp_servers]\nportcullis.url = "https://x/mcp"\n', /line 2: .*does not change/],
    ["codex", '[mcp_servers.portcullis]\ncommand = "theirs"\n', /connect did not write/],
  ];
  for (const [name, content, expected] of cases) {
    await withHome(async (home) => {
      const file = join(home, onLinux[name] ?? "");
      await Deno.mkdir(join(file, ".."), { recursive: true });
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      await Deno.writeFile(file, bytes);
      for (const isRemoved of [false, true]) {
        const { status, said } = await change(home, { name, isRemoved });
        assert.equal(status, 1, said);
        assert.match(said, expected);
        assert.match(said, /nothing was changed/);
      }
      assert.deepEqual(await Deno.readFile(file), bytes);
      assert.equal((await filesBelow(home)).length, 1);
    });
  }
  await withHome(async (home) => {
    const file = join(home, ".claude.json");
    await Deno.writeTextFile(file, "{}");
    const { status, said } = await change(home, {
      name: "claude-code",
      isAgreed: false,
      ask: async () => (await Deno.writeTextFile(file, '{"projects": {}}'), true),
    });
    assert.equal(status, 1);
    assert.match(said, /changed by another program/);
    assert.equal(await Deno.readTextFile(file), '{"projects": {}}');
    assert.deepEqual(await filesBelow(home), [".claude.json"]);
  });
});

Deno.test("connect --remove gives back the file as it was before --write, unless something else was changed since", async () => {
  const cases: [string, string][] = [
    ["cursor", "{}"],
    ["cursor", '{\n  // mine\n  "theme": "x",\n}\n'],
    ["cursor", '\ufeff{"mcpServers": {}}'],
    ["opencode", '{\r\n\t"mcp": {\r\n\t}\r\n}\r\n'],
    ["codex", "a = 1"],
    ["codex", "b = \"\"\"\n[mcp_servers.portcullis]\nurl = 'x'\n\"\"\"\nc = '''\n[a]\n'''\n[x]\n"],
  ];
  for (const [name, text] of cases) {
    await withHome(async (home) => {
      const file = join(home, onLinux[name] ?? "");
      await Deno.mkdir(join(file, ".."), { recursive: true });
      await Deno.writeTextFile(file, text);
      const { status, said } = await change(home, { name });
      assert.equal(status, 0, said);
      assert.notEqual(await Deno.readTextFile(file), text);
      const removed = await change(home, { name, isRemoved: true });
      assert.equal(removed.status, 0, removed.said);
      assert.equal(await Deno.readTextFile(file), text);
      assert.deepEqual(await filesBelow(home), [onLinux[name]]);
    });
  }
});

Deno.test("connect --write says why a file cannot be written: no directory, a link to nothing", async () => {
  await withHome(async (home) => {
    await Deno.writeTextFile(join(home, ".cursor"), "");
    const blocked = await change(home, { name: "cursor" });
    assert.equal(blocked.status, 1);
    assert.match(blocked.said, /error: .*mcp\.json: .*\nhint: nothing was changed/);
    await Deno.symlink(join(home, "nowhere"), join(home, ".claude.json"));
    assert.match((await change(home, { name: "claude-code" })).said, /a link to nothing/);
  });
});

Deno.test("connect --remove leaves what was changed since", async () => {
  await withHome(async (home) => {
    const file = join(home, ".cursor/mcp.json");
    await Deno.mkdir(join(home, ".cursor"));
    await Deno.writeTextFile(
      file,
      '{\n  "mcpServers": {\n    "other": { "url": "https://o.example" } // theirs\n  }\n}\n',
    );
    await change(home, { name: "cursor" });
    const written = await Deno.readTextFile(file);
    await Deno.writeTextFile(file, written.replace('"mcpServers"', '"new": 1,\n  "mcpServers"'));
    assert.equal((await change(home, { name: "cursor", isRemoved: true })).status, 0);
    assert.equal(
      await Deno.readTextFile(file),
      '{\n  "new": 1,\n  "mcpServers": {\n    "other": { "url": "https://o.example" } // theirs\n  }\n}\n',
    );
  });
});

/** JSON with comments, blanks, trailing commas and line ends as people leave them. */
function jsoncText(): fc.Arbitrary<string> {
  const lineEnd = fc.constantFrom("\n", "\r\n");
  const gap = (end: string) =>
    fc.constantFrom("", " ", "\t", end, `${end}  `, `${end}\t`, ` // ] } , " ${end}`, " /* , } */ ", `/* ${end} */`);
  return lineEnd.chain((end) => {
    const { value } = fc.letrec<{ value: string; object: string }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.json({ maxDepth: 1 }),
        fc.tuple(gap(end), fc.array(fc.tuple(tie("value"), gap(end)), { maxLength: 3 }), fc.boolean()).map(
          ([first, items, trailing]) =>
            `[${first}${items.map(([item, after]) => item + after).join(",")}${
              trailing && items.length > 0 ? "," : ""
            }]`,
        ),
        tie("object"),
      ),
      object: objectText(tie("value") as fc.Arbitrary<string>, gap(end)),
    }));
    return fc.tuple(gap(end), objectText(value, gap(end)), gap(end)).map((parts) => parts.join(""));
  });
}

function objectText(value: fc.Arbitrary<string>, gap: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const key = fc.oneof(fc.constantFrom("mcpServers", "other", "", "a.b"), fc.string({ maxLength: 4 }));
  const member = fc.tuple(gap, key, gap, gap, value, gap);
  return fc.tuple(
    gap,
    fc.uniqueArray(member, { maxLength: 4, selector: ([, name]) => name }),
    fc.boolean(),
    gap,
  ).map(([first, members, trailing, last]) =>
    `{${first}${
      members.map(([a, name, b, c, inner, d]) => `${a}${JSON.stringify(name)}${b}:${c}${inner}${d}`).join(",")
    }${trailing && members.length > 0 ? "," : ""}${last}}`
  );
}

/** Kinds of jsonc-parser, which exports them as types alone. */
const [lineComment, blockComment, endOfText] = [12, 13, 17];

function commentsIn(text: string): string[] {
  const scanner = createScanner(text);
  const comments: string[] = [];
  for (let kind; (kind = scanner.scan()) !== endOfText;) {
    const isComment = kind === lineComment || kind === blockComment;
    if (isComment) {
      comments.push(text.slice(scanner.getTokenOffset(), scanner.getTokenOffset() + scanner.getTokenLength()));
    }
  }
  return comments;
}

Deno.test("any JSONC file: the entry goes in, the rest is equal, and it goes out again", () => {
  const editor = jsonEntry(["mcpServers", "portcullis"]);
  let written = 0;
  fc.assert(
    fc.property(jsoncText(), (text) => {
      const set = editor.put(text, entry);
      if (!set.ok) return; // mcpServers is something else
      written += 1;
      const [before, after] = [parseJsonc(text), parseJsonc(set.value)];
      assert.deepEqual(after.mcpServers.portcullis, entry);
      const removed = editor.put(set.value, null);
      assert.ok(removed.ok);
      const { mcpServers = {}, ...others } = parseJsonc(removed.value);
      const { mcpServers: earlier = {}, ...same } = before;
      assert.deepEqual([others, mcpServers], [same, earlier]);
      for (const comment of commentsIn(text)) assert.ok(removed.value.includes(comment));
    }),
    { numRuns: 500 },
  );
  assert.ok(written > 200);
});

/** TOML as people leave it. */
function tomlText(): fc.Arbitrary<string> {
  const scalar = fc.constantFrom(
    ...["1", "true", '"a # b"', "'it [x]'", "1979-05-27T07:32:00Z", '"\\" [mcp_servers.portcullis]"', "0.5"],
    ...[
      '"""\n[mcp_servers.portcullis]\n\\""""""',
      "'''\n[a]\n'''",
      "[\n  1, # ]\n  2,\n]",
      '{ a = 1, b = "}" }',
      "[]",
    ],
  );
  const key = fc.constantFrom("a", "b-c", '"d e"', "'f.g'", "h.i", "url");
  const lines = fc.uniqueArray(fc.tuple(key, scalar, fc.constantFrom("", " # c", "\n", "\n\n  # d")), {
    maxLength: 4,
    selector: ([name]) => name,
  }).map((each) => each.map(([name, value, after]) => `${name} = ${value}${after}\n`).join(""));
  const tables = fc.uniqueArray(
    fc.constantFrom(
      "[t]",
      "[mcp_servers.other]",
      "[ x . y ] # z",
      "[[list]]",
      '["mcp_servers".third]',
      "[mcp_servers]",
    ),
    { maxLength: 4 },
  ).chain((names) => fc.tuple(...names.map((name) => lines.map((body) => `${name}\n${body}`))));
  return fc.tuple(lines, tables, fc.boolean(), fc.boolean()).map(([root, rest, isWindows, endsWell]) => {
    const text = [root, ...rest].join("\n");
    const whole = endsWell ? text : text.trimEnd();
    return isWindows ? whole.replaceAll("\n", "\r\n") : whole;
  });
}

Deno.test("any TOML file: the table goes in, the rest is equal, and it goes out again", () => {
  const editor = tomlEntry(["mcp_servers", "portcullis"]);
  const values = fc.record({ url: fc.string() });
  fc.assert(
    fc.property(tomlText(), values, values, (text, first, second) => {
      const before = parseToml(text) as { mcp_servers?: Record<string, unknown> };
      const set = editor.put(text, first);
      assert.ok(set.ok, set.ok ? "" : `${set.error}\n${text}`);
      assert.ok(set.value.startsWith(text));
      const both = { ...before, mcp_servers: { ...before.mcp_servers, portcullis: first } };
      assert.deepEqual(plain(parseToml(set.value)), plain(both));
      const replaced = editor.put(set.value, second);
      assert.ok(replaced.ok);
      assert.deepEqual(
        plain(parseToml(replaced.value)),
        plain({ ...both, mcp_servers: { ...both.mcp_servers, portcullis: second } }),
      );
      const removed = editor.put(replaced.value, null);
      assert.ok(removed.ok);
      assert.equal(removed.value.trimEnd(), text.trimEnd());
    }),
    { numRuns: 500 },
  );
});

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
