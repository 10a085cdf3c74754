/** Calls that rules judge: what a caller learns before a decision, and what an approval is for. */
import assert from "node:assert/strict";
import { showName } from "../../src/files/workspace/path.ts";
import { until } from "../fixtures/until.ts";
import { postMcp } from "../fixtures/mcp_call.ts";
import { type Desk, fileIn, isThere, startDesk } from "./desk.ts";

const pending = /waits for a person's approval/;

async function layOut(root: string): Promise<void> {
  for (const directory of ["secret/inner", "open", "deploy"]) {
    await Deno.mkdir(`${root}/${directory}`, { recursive: true });
  }
  await Deno.writeTextFile(`${root}/secret/plan.txt`, "the password is sesame\n");
  await Deno.writeTextFile(`${root}/open/draft.sh`, "echo harmless\n");
  await Deno.writeTextFile(`${root}/open/plane.txt`, "p\n");
  await Deno.symlink("secret", `${root}/shelf`);
}

Deno.test("of a place that a rule asks about a caller learns nothing before a decision, whatever it asks", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await layOut(desk.place.workspaceDir);
  await desk.rule({ place: "secret", verdict: "ask", approver: "administrator" });
  const guess = (text: string) => ({
    path: "secret/plan.txt",
    edits: [{ old_text: text, new_text: "x" }, { old_text: "not there at all", new_text: "y" }],
  });
  const answers = new Map<string, string>();
  for (
    const [tool, input] of [
      ["file_edit", guess("sesame")],
      ["file_edit", guess("sesamf")],
      ["file_edit", { ...guess("sesame"), dry_run: true }],
      ["file_edit", { path: "secret/gone.txt", old_text: "a", new_text: "b" }],
      ["file_edit", { path: "secret/plan.txt", old_text: "sesame", new_text: "b", if_version: "000000000000" }],
      ["file_edit", { path: "shelf/plan.txt", old_text: "sesamf", new_text: "b" }],
      ["file_read", { filename: "secret/plan.txt" }],
      ["file_read", { filename: "secret/plam.txt" }],
      ["file_read", { filename: "open/plane.txt", files: ["secret/plan.txt"] }],
      ["file_write", { filename: "secret/plan.txt", content: "x", mode: "create" }],
      ["file_write", { filename: "secret/plan.txt", content: "x", link: true }],
      ["file_read", { filename: "secret/plan.txt", link: true }],
      ["file_delete", { path: "secret/gone" }],
      ["file_delete", { path: "secret/inner", recursive: true }],
      ["file_move", { path: "secret/gone", destination: "open/x" }],
      ["file_move", { path: "open/plane.txt", destination: "secret/plan.txt" }],
      ["file_list", { path: "secret" }],
      ["file_list", {}],
      ["file_search", { query: "password" }],
      ["file_undo", { change: "20000101-none" }],
    ] as const
  ) {
    const { text, isError } = await desk.call(tool, input);
    assert.ok(isError, `${tool} ${JSON.stringify(input)}: ${text}`);
    answers.set(text, `${tool} ${JSON.stringify(input)}`);
  }
  assert.deepEqual([...answers].length, 1, JSON.stringify([...answers], null, 2));
  assert.match([...answers.keys()][0] ?? "", pending);
});

Deno.test("no suggestion names what a rule keeps, alone or beside what was found, by link or absolute path", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  const root = desk.place.workspaceDir;
  await layOut(root);
  const asked = [
    ["file_read", { filename: "plan.txt" }],
    ["file_read", { filename: "open/plane.txt", files: ["secrt/plan.txt", "plan.txt"] }],
    ["file_read", { filename: "shelv/plam.txt" }],
    ["file_read", { filename: "/home/ada/secret/plan.txt" }],
    ["file_list", { path: "/home/ada/shelf" }],
    ["file_edit", { path: "secre/plan.txt", old_text: "a", new_text: "b" }],
    ["file_delete", { path: "secre" }],
    ["file_move", { path: "plan.txt", destination: "x.txt" }],
    ["file_search", { query: "x", path: "secre" }],
  ] as const;
  const textsOf = async (): Promise<string[]> => {
    const texts: string[] = [];
    for (const [tool, input] of asked) texts.push((await desk.call(tool, input)).text);
    return texts;
  };
  const before = await textsOf();
  assert.ok(before.every((text) => /secret|shelf/.test(text)), JSON.stringify(before, null, 2));
  for (const verdict of ["deny", "ask"]) {
    await desk.rule({ place: "secret", verdict });
    const judged = await textsOf();
    await Deno.rename(`${root}/secret`, `${root}/../aside`);
    await Deno.remove(`${root}/shelf`);
    const without = await textsOf();
    await Deno.rename(`${root}/../aside`, `${root}/secret`);
    await Deno.symlink("secret", `${root}/shelf`);
    assert.deepEqual(judged, without, `${verdict}: it answers as if nothing were there`);
  }
  assert.match((await desk.call("file_read", { filename: "open/plane.tx" })).text, /did you mean open\/plane\.txt/);
});

/** Asks, changes something, approves what was shown before: the call waits anew; approved again, it runs. */
async function holdsAgain(
  desk: Desk,
  [tool, input]: readonly [string, Record<string, unknown>],
  change: () => Promise<unknown>,
): Promise<void> {
  const words = `${tool} ${JSON.stringify(input)}`;
  assert.match((await desk.call(tool, input)).text, pending, words);
  await desk.decide("approve");
  await change();
  assert.match((await desk.call(tool, input)).text, pending, `${words} runs though something changed`);
  await desk.decide("approve");
  const { text, isError } = await desk.call(tool, input);
  assert.equal(isError, false, `${words}: ${text}`);
}

Deno.test("an approval is for the content of all that a call reads, moves, copies, deletes or undoes", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  const root = desk.place.workspaceDir;
  await layOut(root);
  await desk.call("file_write", { filename: "undo.txt", content: "made\n" });
  await desk.rule({ verdict: "ask" });
  const write = (path: string, text: string = crypto.randomUUID()) => () => Deno.writeTextFile(`${root}/${path}`, text);
  await holdsAgain(
    desk,
    ["file_move", { path: "open/draft.sh", destination: "deploy/run.sh", copy: true }],
    write("open/draft.sh"),
  );
  for (const name of ["draft.sh", "./draft.sh", "draft.sh/."]) {
    const into = { destination: "deploy", copy: true, overwrite: true };
    await holdsAgain(desk, ["file_move", { paths: [`open/${name}`], ...into }], write("deploy/draft.sh"));
    const slashed = { path: `open/${name}`, ...into, destination: "deploy/" };
    await holdsAgain(desk, ["file_move", slashed], write("deploy/draft.sh"));
  }
  for (const name of ["a\\b.txt", "a\nb.txt", "a\u202eb.txt", "a\\u{41}.txt"]) {
    await write(name)();
    await holdsAgain(desk, ["file_move", {
      path: showName(name),
      destination: `deploy/${[...name].length}-${name.codePointAt(1)}-${name.length}`,
    }], write(name));
  }
  await holdsAgain(desk, ["file_move", { path: "open", destination: "there", copy: true }], write("open/draft.sh"));
  await holdsAgain(desk, ["file_move", { path: "open", destination: "elsewhere", copy: true }], write("open/new.txt"));
  await holdsAgain(desk, ["file_move", { path: "there", destination: "moved" }], write("there/draft.sh"));
  await holdsAgain(desk, ["file_delete", { path: "moved", recursive: true }], write("moved/draft.sh"));
  await holdsAgain(desk, ["file_delete", { path: "deploy/run.sh" }], write("deploy/run.sh"));
  await holdsAgain(desk, ["file_read", { filename: "open/plane.txt", files: ["open/new.txt"] }], write("open/new.txt"));
  await holdsAgain(desk, ["file_read", { filename: "open/plane.txt", link: true }], write("open/plane.txt"));
  await holdsAgain(desk, ["file_list", { path: "open" }], write("open/another.txt"));
  await holdsAgain(desk, ["file_search", { query: "p", path: "open" }], write("open/plane.txt", "pp\n"));
  assert.equal(await isThere(desk, "moved/draft.sh"), false);
});

Deno.test("a refusal comes before a question, and a question before an allowance, in any order", async () => {
  for (const order of [["deny", "ask", "allow"], ["allow", "ask", "deny"], ["ask", "deny", "allow"]]) {
    await using desk = await startDesk({ patienceMs: 0 });
    for (const verdict of order) await desk.rule({ place: "secret", verdict });
    for (const verdict of order.filter((each) => each !== "deny")) await desk.rule({ place: "drafts", verdict });
    assert.match((await desk.call("file_write", { filename: "secret/a", content: "x" })).text, /does not allow/);
    assert.match((await desk.call("file_write", { filename: "drafts/a", content: "x" })).text, pending);
    await desk.decide("approve", { extent: "always" });
    assert.equal((await desk.call("file_write", { filename: "drafts/a", content: "x" })).isError, false);
    await desk.rule({ place: "drafts", verdict: "deny" });
    assert.match((await desk.call("file_write", { filename: "drafts/b", content: "x" })).text, /does not allow/);
    assert.match((await desk.page("rules")).html, /Refuse comes before Ask, Ask before Allow/);
    assert.equal(await fileIn(desk, "drafts/a"), "x");
  }
});

Deno.test("no method tells what a rule keeps, or anything while calls are stopped; each counts against the limit", async () => {
  await using desk = await startDesk({ patienceMs: 0, env: { MCP_RATE_LIMIT: "60" } });
  const root = desk.place.workspaceDir;
  await layOut(root);
  for (let index = 0; index < 40; index++) await Deno.writeTextFile(`${root}/secret/${index}.txt`, "x");
  const opening = await postMcp(desk.server.url, {
    ...{ jsonrpc: "2.0", id: 0, method: "initialize" },
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
  }, { token: desk.token });
  const session = opening.headers.get("mcp-session-id");
  await opening.body?.cancel();
  const sent = async (method: string, params: Record<string, unknown>): Promise<string> => {
    const message = { jsonrpc: "2.0", id: 1, method, params };
    const headers = session === null ? {} : { "mcp-session-id": session };
    return await (await postMcp(desk.server.url, message, { token: desk.token, headers })).text();
  };
  const ref = { type: "ref/resource", uri: "workspace:///{+path}" };
  const subscribe = (path: string) => sent("resources/subscribe", { uri: `workspace:///${path}` });
  const complete = (value: string) => sent("completion/complete", { ref, argument: { name: "path", value } });
  assert.match(await subscribe("secret/plan.txt"), /"result"/);
  await desk.rule({ place: "secret", verdict: "ask" });
  const [denied, absent, linked] = [
    await subscribe("secret/plan.txt"),
    await subscribe("secret/none.txt"),
    await subscribe("shelf/plan.txt"),
  ];
  assert.match(denied, /"error"/);
  assert.equal(denied.replace("plan", "none"), absent);
  assert.match(linked, /"error"/);
  assert.match(await subscribe("open/plane.txt"), /"result"/);
  assert.ok(!(await complete("secret/")).includes("secret/"));
  assert.equal(await complete("secret/pl"), await complete("secret/zz"));
  const list = await sent("resources/list", {});
  assert.ok(list.includes("plane.txt") && !list.includes("secret"), list);
  await desk.owner.submit(await desk.page("activity"), {}, 'value="stop"');
  for (
    const each of [list, await sent("resources/list", {}), await complete("open/"), await subscribe("open/draft.sh")]
  ) {
    assert.equal(each === list, /"result"/.test(each), each);
  }
  await desk.owner.submit(await desk.page("activity"), {}, 'value="start"');
  let last = "";
  for (let index = 0; index < 70; index++) last = await complete("");
  assert.match(last, /Too many calls/);
  for (
    const method of ["resources/list", "prompts/list", "tools/list", "resources/templates/list", "ping", "made/up"]
  ) {
    assert.match(await sent(method, {}), /Too many calls/, method);
  }
});

Deno.test("what a person approves is what they see: nothing hides in contents, arguments or names", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  await desk.rule({ tool: "changes", verdict: "ask" });
  const tags = Array.from("rm -rf", (letter) => String.fromCodePoint(0xe0000 + (letter.codePointAt(0) ?? 0))).join("");
  const hidden = [
    tags,
    "\u200b",
    "\u200d",
    "\u2060",
    "\ufeff",
    "\ufe0f",
    "\u{e0100}",
    "\u202e",
    "\u2066",
    "\u00ad",
    "\u3164",
    "\u2800",
    "\u00a0",
    "\ufffc",
  ];
  const piled = `e${"\u0300".repeat(40)}`;
  const others = ["a\rb", "rm\u2215x", "ls\u037e", "\u212aey", "p\u05e1st", "\u{10428}pen", "g\u13bex", piled];
  const content = `${hidden.map((each) => `a${each}b`).join("\n")}\np\u0430yp\u0430l.com \uff41dmin\nпривет мир\n${
    others.join("\n")
  }\nAPIを使う\r\nm² … ½\n`;
  for (
    const [tool, input] of [
      ["file_write", { filename: "notes.md", content }],
      ["file_write", { filename: "re\u200badm\u0435.md", content: "x" }],
    ] as const
  ) {
    assert.match((await desk.call(tool, input)).text, pending);
    const { html } = await desk.page("decisions");
    for (const each of [...hidden.flatMap((text) => [...text]), "\uff41", "p\u0430y", "adm\u0435", ...others]) {
      assert.ok(!html.includes(each), JSON.stringify(each));
    }
    if (input.content === content) {
      for (
        const shown of [
          "\\u{E0072}",
          "\\u{200B}",
          "\\u{FE0F}",
          "p\\u{430}yp\\u{430}l",
          "привет мир",
          "a\\u{D}b",
          "APIを使う",
          "m² … ½",
        ]
      ) {
        assert.ok(html.includes(shown), shown);
      }
    }
    await desk.decide("deny");
  }
});

Deno.test("a trial says what a new rule would change beside the rules that there are", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  for (const filename of ["secret/a", "open/a"]) await desk.call("file_write", { filename, content: "x" });
  await desk.rule({ place: "secret", verdict: "deny" });
  const trial = async (): Promise<string> => {
    const page = await desk.page("rules");
    return (await desk.owner.submit(page, { tool: "file_write", verdict: "ask", trial: "yes" }, 'value="add"')).html;
  };
  await until("both calls are in the audit", async () => /<\/strong>\s+of 2 calls/.test(await trial()));
  assert.match(await trial(), /would have held <strong>1<\/strong>\s+of/);
});

Deno.test("an approved upload by link is for what was there when the link was made, and for where it led", async () => {
  await using desk = await startDesk({ patienceMs: 0 });
  const root = desk.place.workspaceDir;
  for (const directory of ["one", "prod"]) await Deno.mkdir(`${root}/${directory}`);
  for (const name of ["there.txt", "one/same.txt", "prod/same.txt"]) {
    await Deno.writeTextFile(`${root}/${name}`, "seen\n");
  }
  const large = async (): Promise<void> => {
    await Deno.writeTextFile(`${root}/large.bin`, crypto.randomUUID());
    await Deno.truncate(`${root}/large.bin`, 20 * 1024 * 1024); // more than one read takes
  };
  await large();
  await Deno.symlink("one", `${root}/way`);
  await Deno.symlink("prod", `${root}/way2`);
  await Deno.symlink("one/same.txt", `${root}/last`);
  await desk.rule({ tool: "file_write", verdict: "ask" });
  const write = (name: string) => () => Deno.writeTextFile(`${root}/${name}`, crypto.randomUUID());
  const movedLink = async (): Promise<void> => { // as the agent may
    for (const [path, destination] of [["way", "aside"], ["way2", "way"]]) {
      assert.equal((await desk.call("file_move", { path, destination })).isError, false);
    }
  };
  const turnLink = async (): Promise<void> => {
    await Deno.remove(`${root}/last`);
    await Deno.symlink("prod/same.txt", `${root}/last`);
  };
  for (
    const [filename, change] of [
      ["there.txt", write("there.txt")],
      ["new.txt", write("new.txt")],
      ["large.bin", large],
      ["last", turnLink],
      ["way/same.txt", movedLink],
      ["way/new.txt", () => Deno.remove(`${root}/way`).then(() => Deno.symlink("one", `${root}/way`))],
    ] as const
  ) {
    for (const moment of ["before", "while it is sent", "never"]) {
      if (moment === "while it is sent" && filename !== "large.bin") continue;
      const input = { filename, link: true, content: "" };
      await desk.call("file_write", input);
      await desk.decide("approve");
      const { text } = await desk.call("file_write", input);
      const url = /http:\S+\/files\/[^\s"]+/.exec(text)?.[0] ?? assert.fail(text);
      if (moment === "before") await change();
      const started = (): number => desk.server.stderr().split('"transfer_started"').length;
      const before = started();
      const body = new ReadableStream({
        async start(controller) {
          controller.enqueue(new TextEncoder().encode("sent"));
          if (moment === "while it is sent") {
            await until("it runs", () => started() > before);
            await change();
          }
          controller.close();
        },
      });
      const answer = await fetch(url, { method: "PUT", body });
      const said = await answer.text();
      assert.equal(answer.status < 300, moment === "never", `${filename} ${moment}: ${answer.status} ${said}`);
      if (moment !== "never") assert.equal(answer.status, 409, said);
      if (moment === "before" && filename === "new.txt") await Deno.remove(`${root}/new.txt`);
      if (moment === "never" && filename === "large.bin") await large();
    }
  }
  assert.deepEqual([await fileIn(desk, "one/same.txt"), await isThere(desk, "prod/new.txt")], ["seen\n", false]);
});
