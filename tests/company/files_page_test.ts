/** The console's Files is no way around what someone's groups let them allow. */
import assert from "node:assert/strict";
import { authorOf, changeSection, createChanges, createOwnFiles, filesSection } from "../../src/console/pages/files.ts";
import type { ConsoleSources } from "../../src/console/pages/section.ts";
import { users } from "../../src/oauth/records.ts";
import { parseGroups } from "../../src/oauth/mod_settings.ts";
import { fileListTool } from "../../src/files/tools/file_list.ts";
import { fileReadTool } from "../../src/files/tools/file_read.ts";
import { fileSearchTool } from "../../src/files/tools/file_search.ts";
import { pathOf } from "../../src/files/text/undo.ts";
import { defaultWorkspaceLimits } from "../../src/files/workspace/port.ts";
import { act, startConsole } from "../console/harness.ts";
import { openBrowser } from "../authorization_server/harness.ts";
import { providerClient, startCompanyProvider } from "../fixtures/company_provider/provider.ts";
import { withWorkspace } from "../tools/with_workspace.ts";
import { follow, hour } from "./place.ts";

Deno.test("Files shows and restores what the person's groups let them allow", async () => {
  const trash = { keepMs: hour, maxBytes: defaultWorkspaceLimits.maxFileBytes };
  await withWorkspace(async ({ root, workspace }) => {
    const time = { now: 1_800_000_000_000 };
    await using provider = await startCompanyProvider({ clock: () => time.now });
    const groups = parseGroups("writers=files:write; readers=files:read; callers=llm:generate");
    assert.ok(groups.ok);
    const company = {
      issuer: provider.issuer,
      clientId: providerClient.id,
      clientSecret: providerClient.secret,
      allow: [{ kind: "everyone" } as const],
      groups: groups.value,
      groupsClaim: "groups",
      recheckMs: hour,
      assertions: false,
      fetch,
    };
    const sources = {
      workspace: () => workspace,
      tools: [fileListTool(() => workspace), fileReadTool(() => workspace), fileSearchTool(() => workspace)],
      judge: () => Promise.resolve(null),
      log: { write: () => {}, flush: () => {} },
      search: () => Promise.resolve({ lines: [], cursor: null }),
      isUser: () => Promise.resolve(true),
    } as unknown as ConsoleSources;
    const files = createOwnFiles(sources);
    const changes = createChanges(sources, files.ruledOut);
    const section = filesSection(files, changes, () => Promise.resolve(new Map()));
    await using harness = await startConsole([section, changeSection(changes, files.ruledOut)], {
      time,
      company,
    });
    await Deno.writeTextFile(`${root}/a.txt`, "before\n");
    const open = async (name: string, group: string) => {
      provider.employ(name, { groups: [group] });
      provider.signIn(name);
      const browser = openBrowser(harness);
      await follow({ provider }, browser, "/console/files?path=a.txt");
      return browser;
    };
    const caller = await open("cora", "callers");
    for (const query of ["", "?path=a.txt", "?path=a.txt&download=1", "?find=before", "?path=a.txt&view=history"]) {
      const response = await caller.get(`/console/files${query}`);
      const text = await (response.status === 303 ? await caller.get(response.headers.get("location") ?? "") : response)
        .text();
      assert.match(text, /Your groups do not give you files:read\./, query);
      assert.doesNotMatch(text, /before<|a\.txt<\/a><\/td>/, query);
    }
    const change = await caller.get("/console/change?id=abcdefghi");
    assert.match(await change.text(), /Your groups do not give you files:read\./);
    const reader = await open("rita", "readers");
    assert.match(await (await reader.get("/console/files?path=a.txt")).text(), /before/);
    const refused = await act(reader, "/console/files?path=a.txt", {
      act: "restore",
      path: "a.txt",
      version: "abcdefghi.1",
    });
    assert.match(await refused.text(), /Your groups do not give you files:write\./);
    for (const page of ["/console/files?path=a.txt", "/console/change?id=abcdefghi"]) {
      const undone = await act(reader, page, { act: "undo", id: "abcdefghi", path: "a.txt" });
      assert.match(await undone.text(), /Your groups do not give you files:write\./, page);
    }
    const writer = await open("will", "writers");
    const gone = await act(writer, "/console/files?path=a.txt", {
      act: "restore",
      path: "a.txt",
      version: "abcdefghi.1",
    });
    assert.match(await gone.text(), /no longer kept/);
    const page = await (await writer.get("/console/files?path=a.txt")).text();
    assert.match(page, /before/, "writing implies reading");
    const all = await users.list(harness.storage, { limit: 9 });
    const will = all.find(({ value }) => JSON.stringify(value).includes("will"))?.value.id ?? assert.fail();
    const written = await workspace.begin(authorOf(will)).write(pathOf("a.txt"), new TextEncoder().encode("after\n"));
    assert.ok(written.ok);
    const history = "/console/files?path=a.txt&view=history";
    assert.match(await (await writer.get(history)).text(), /value="undo"/);
    const moved = await (await open("will", "readers")).get(history);
    const words = await moved.text();
    assert.ok(words.includes(">Your groups do not give you files:write.<") && !words.includes('value="undo"'), words);
  }, { trash });
});

Deno.test("a read or search that takes too long is told in words", async () => {
  const slow = (name: string) => ({
    name,
    input: { parse: (input: unknown) => input },
    run: (_: unknown, { signal }: { readonly signal: AbortSignal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  });
  const broken = { ...slow("broken"), run: () => Promise.reject(new TypeError("a bug")) };
  const sources = { tools: [slow("file_read"), slow("file_search"), broken] } as unknown as ConsoleSources;
  const files = createOwnFiles(sources, 1);
  const visitor = { userId: "ada" } as Parameters<typeof files.call>[0];
  for (const name of ["file_read", "file_search"]) {
    const outcome = await files.call(visitor, name, {});
    assert.match(outcome.ok ? "" : outcome.message, /took too long/, name);
  }
  await assert.rejects(files.call(visitor, "broken", {}), /a bug/);
});
