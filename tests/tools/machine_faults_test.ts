/** A machine that lacks something: whatever is asked for then, the answer says what is wrong and what to do. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { type Descriptor, KernelError } from "../../src/lib/kernel/descriptor.ts";
import { machineFaultWords } from "../../src/lib/system_fault.ts";
import type { Tool } from "../../src/mcp/tool.ts";
import { fileDeleteTool } from "../../src/files/tools/file_delete.ts";
import { fileEditTool } from "../../src/files/tools/file_edit.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileMoveTool } from "../../src/files/tools/file_move.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { fileWriteTool } from "../../src/files/tools/file_write.ts";
import { fileUndoTool } from "../../src/files/tools/file_undo.ts";
import type { Workspace } from "../../src/files/workspace/port.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { needsPrograms } from "../fixtures/skipped_unless.ts";
import { callTool } from "../workspace/call_tool.ts";
import { currentMode, descriptorMethods, openDiskWorkspace, testInEachMode } from "../workspace/disk_modes.ts";
import { quickDirectory } from "../workspace/property_runs.ts";

const soon = /; try again in a moment\b/;
const remedies: Readonly<Record<string, RegExp>> = {
  EMFILE: /too many open files; try again in a moment/,
  ENFILE: /too many open files; try again in a moment/,
  ENOMEM: /no memory left; try again in a moment/,
  ENOSPC: /no space left on the disk; delete what is not needed, or ask its operator/,
  EDQUOT: /; delete what is not needed, or ask its operator/,
  EROFS: /read-only(?:, or something in it is)?; ask (?:its|the server's) operator/,
  EIO: /disk reported an error; ask its operator/,
};

const calls: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ["file_read", { filename: "a/f" }],
  ["file_read", { filename: "a/f", link: true }],
  ["file_write", { filename: "a/g", content: "x" }],
  ["file_write", { filename: "a/f", content: "x" }],
  ["file_write", { filename: "a/f", content: "x", mode: "append" }],
  ["file_write", { filename: "a/h", link: true }],
  ["file_list", {}],
  ["file_list", { depth: 5 }],
  ["file_list", { show: "details" }],
  ["file_list", { show: "summary" }],
  ["file_edit", { path: "a/f", old_text: "one", new_text: "uno" }],
  ["file_search", { query: "two" }],
  ["file_search", { query: "t.o$", regex: true }],
  ["file_undo", {}],
  ["file_undo", { change: "last" }],
  ["file_move", { path: "a/f", destination: "a/z", copy: true }],
  ["file_move", { path: "a", destination: "z", copy: true }],
  ["file_move", { path: "a/f", destination: "a/z" }],
  ["file_delete", { path: "a/f" }],
  ["file_delete", { path: "a", recursive: true }],
];

const lists = [
  ["resources/list", {}],
  ["resources/read", { uri: "workspace:///a/f" }],
] as const;

Deno.test({
  ...needsPrograms(
    ["prlimit"],
    "a server that can open no more files says so to each caller, and goes on once it can",
  ),
  async fn() {
    await using place = await makeServerPlace();
    const created = await runCommand(["token", "create", "--scope", "files:write", "--data-dir", place.dataDir]);
    const token = created.stdout.trim();
    await using server = await startServer(place, { env: { MCP_RATE_LIMIT: "100000", OLLAMA_HOST: "127.0.0.1:1" } });
    const ask = async (message: unknown): Promise<{ readonly isDone: boolean; readonly text: string }> => {
      const answer = await (await postMcp(server.url, message, { token })).json();
      return { isDone: answer.error === undefined && answer.result.isError !== true, text: JSON.stringify(answer) };
    };
    const prepare = async (): Promise<void> => {
      for await (const { name } of Deno.readDir(place.workspaceDir)) {
        await Deno.remove(join(place.workspaceDir, name), { recursive: true });
      }
      for (const content of ["one\ntwo\n", "one\ntwo\nthree\n"]) {
        assert.ok((await ask(toolCall("file_write", { filename: "a/f", content }))).isDone);
      }
    };
    const requests = [
      ...calls.map(([name, input]) => toolCall(name, input)),
      ...lists.map(([method, params]) => ({ jsonrpc: "2.0", id: 1, method, params })),
    ];
    for (const spare of [0, 1, 2]) {
      // Below 0 no number is free, whatever the server closes meanwhile.
      const limit = () => limitFiles(server.pid, spare === 0 ? 0 : firstFree(server.pid) + spare);
      for (const request of requests) {
        await prepare();
        limit();
        const { isDone, text } = await ask(request);
        limitFiles(server.pid, 4_096);
        const what = `${spare} spare: ${JSON.stringify(request)} ${text}`;
        if (spare === 0) assert.equal(isDone, false, what);
        assert.ok(isDone || soon.test(text), what);
      }
      limit();
      for (const path of ["/console", "/authorize", "/.well-known/oauth-authorization-server"]) {
        const response = await fetch(`${server.url}${path}`, { redirect: "manual" });
        const text = await response.text();
        assert.notEqual(response.status, 500, `${path} ${text}`);
        assert.equal(soon.test(text), response.headers.has("retry-after"), path);
      }
      limitFiles(server.pid, 4_096);
    }
    await prepare();
    for (const request of requests.slice(0, -calls.length)) assert.ok((await ask(request)).isDone);
    assert.ok((await ask(toolCall("file_list", {}))).isDone);
  },
});

function firstFree(pid: number): number {
  const taken = new Set(Array.from(Deno.readDirSync(`/proc/${pid}/fd`), ({ name }) => Number(name)));
  let number = 0;
  while (taken.has(number)) number++;
  return number;
}

function limitFiles(pid: number, most: number): void {
  const { success, stderr } = new Deno.Command("prlimit", { args: ["--pid", `${pid}`, `--nofile=${most}:`] })
    .outputSync();
  assert.ok(success, new TextDecoder().decode(stderr));
}

const methods: readonly (readonly (keyof Descriptor)[])[] = [
  ["open", "tryOpen"],
  ["status"],
  ["statusOf"],
  ["readEntries"],
  ["makeDirectory"],
  ["removeFile"],
  ["removeDirectory"],
  ["rename"],
  ["renameNew"],
  ["link"],
  ["read", "readLater"],
  ["write", "writeNow"],
  ["flush"],
];

const changing: readonly (keyof Descriptor)[] = [
  ...["open", "makeDirectory", "removeFile", "removeDirectory", "link", "rename", "renameNew"] as const,
  ...["write", "writeNow", "flush", "setMode"] as const,
];

for (const [code, remedy] of Object.entries(remedies)) {
  testInEachMode(`each file tool says what to do about ${code}, whichever call of the system meets it`, async () => {
    if (currentMode() !== "kernel") return; // there nothing stands between this and the system
    for (const names of methods) {
      const root = quickDirectory();
      const workspace = openDiskWorkspace({ root, trash: { keepMs: 1e9, maxBytes: 1e9 } });
      try {
        const tools = toolsOf(workspace);
        for (const [name, input] of calls) {
          if ("link" in input) continue;
          for (const content of ["one\ntwo\n", "one\ntwo\nthree\n"]) {
            await callTool(toolOf(tools, "file_write"), { filename: "a/f", content });
          }
          for (const path of ["a/z", "z"]) await callTool(toolOf(tools, "file_delete"), { path, recursive: true });
          const fault = refuse(names, code);
          const words = await wordsOf(toolOf(tools, name), input).finally(fault);
          assert.ok(words === null || remedy.test(words), `${names} ${name} ${JSON.stringify(input)}: ${words}`);
        }
      } finally {
        await workspace.close();
        Deno.removeSync(root, { recursive: true });
      }
    }
  });
}

const madeWhole = calls.filter(([name, input]) =>
  ["file_write", "file_edit", "file_move", "file_delete", "file_undo"].includes(name) && !("link" in input) &&
  !("copy" in input) && JSON.stringify(input) !== "{}"
);

testInEachMode("what a tool says it did not do was not done, whichever single call of the system fails", async () => {
  if (currentMode() !== "kernel") return; // there nothing stands between this and the system
  for (const [name, input] of madeWhole) {
    for (let refused = 1, isMet = true; isMet; refused++) {
      const root = quickDirectory();
      const workspace = openDiskWorkspace({ root, trash: { keepMs: 1e9, maxBytes: 1e9 } });
      try {
        const tools = toolsOf(workspace);
        for (const content of ["one\n", "one\ntwo\n"]) {
          await callTool(toolOf(tools, "file_write"), { filename: "a/f", content });
        }
        const before = contentsOf(root);
        let count = 0;
        const end = refuse(changing, "EMFILE", () => ++count === refused);
        const words = await wordsOf(toolOf(tools, name), input).finally(end);
        isMet = count >= refused;
        assert.equal(
          contentsOf(root) === before,
          words !== null,
          `${name} ${JSON.stringify(input)} ${refused}: ${words}`,
        );
      } finally {
        await workspace.close();
        Deno.removeSync(root, { recursive: true });
      }
    }
  }
});

/** Every file below, with its content. */
function contentsOf(root: string, below = ""): string {
  const entries = Array.from(Deno.readDirSync(`${root}${below}`)).filter(({ name }) => name !== ".portcullis");
  return entries.map(({ name, isDirectory }) =>
    isDirectory
      ? contentsOf(root, `${below}/${name}`)
      : `${below}/${name}: ${Deno.readTextFileSync(`${root}${below}/${name}`)}`
  ).sort().join("");
}

function toolsOf(workspace: Workspace): readonly Tool[] {
  return [
    fileReadTool(() => workspace, null),
    fileWriteTool(() => workspace, null),
    fileListTool(() => workspace),
    fileEditTool(() => workspace),
    fileMoveTool(() => workspace),
    fileDeleteTool(() => workspace, { isKept: true }),
    fileSearchTool(() => workspace),
    fileUndoTool(() => workspace),
  ];
}

function toolOf(tools: readonly Tool[], name: string): Tool {
  const found = tools.find((tool) => tool.name === name);
  assert.ok(found);
  return found;
}

/** What a caller reads of a failure; `null` for an answer. */
async function wordsOf(tool: Tool, input: unknown): Promise<string | null> {
  try {
    const outcome = await callTool(tool, input);
    return outcome.ok ? null : outcome.message;
  } catch (error) {
    return machineFaultWords(error) ?? `${error}`;
  }
}

/** Calls of these methods fail where it is their time. */
function refuse(names: readonly (keyof Descriptor)[], code: string, isTime = (): boolean => true): () => void {
  const prototype = descriptorMethods();
  assert.ok(prototype);
  const undo = names.map((name) => {
    const original = Reflect.get(prototype, name);
    Reflect.set(prototype, name, function (this: unknown, ...given: unknown[]) {
      if (!isTime()) return original.apply(this, given);
      if (name === "tryOpen") return code;
      throw new KernelError(code);
    });
    return () => Reflect.set(prototype, name, original);
  });
  return () => undo.forEach((each) => each());
}
