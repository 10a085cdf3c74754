/** The console of two instances on one database: what one shows, holds or stops, the other does too. */
import assert from "node:assert/strict";
import { freePort } from "../fixtures/free_port.ts";
import { postMcp, toolCall } from "../fixtures/mcp_call.ts";
import { openSignedIn, setUpOwner } from "../fixtures/owner.ts";
import { createPerson, type Page, type Person } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, type RunningServer, startServer } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";
import { createConnectingClient } from "../connections/connecting_client.ts";
import { findPostgres, startPostgresCluster } from "../storage/postgres_cluster.ts";

interface Instance {
  readonly server: RunningServer;
  /** The owner in a browser of their own, whose requests reach this instance. */
  readonly owner: Person;
  page(section: string): Promise<Page>;
  call(tool: string, input: Record<string, unknown>): Promise<string>;
}

interface Pair extends AsyncDisposable {
  readonly a: Instance;
  readonly b: Instance;
  createToken(name: string): Promise<string>;
  /** A browser of someone, whose requests reach this instance. */
  browserAt(instance: Instance): Person;
}

async function startPair(database: (directory: string) => Readonly<Record<string, string>>): Promise<Pair> {
  const place = await makeServerPlace();
  const [portA, portB] = [freePort(), freePort()];
  const serverUrl = `http://127.0.0.1:${portA}`;
  const env = {
    DATA_DIR: place.dataDir,
    WORKSPACE_STORE: "storage",
    OAUTH_RATE_LIMIT: "1000000",
    SERVER_URL: serverUrl,
    ...database(place.dataDir),
  };
  const start = (port: number) => startServer(place, { env: { ...env, PORT: String(port) }, args: [] });
  const first = await start(portA);
  const personAt = (port: number): Person =>
    createPerson(serverUrl, (url, init) => {
      const there = new URL(url);
      there.port = String(port);
      return fetch(there, init);
    });
  await setUpOwner(personAt(portA), first); // before another start, which makes a link of its own
  const second = await start(portB);
  const createToken = async (name: string): Promise<string> => {
    const words = ["token", "create", "--name", name, "--scope", "files:read files:write"];
    const made = await runCommand(words, { env });
    assert.equal(made.code, 0, made.stderr);
    return made.stdout.trim();
  };
  const token = await createToken("agent");
  const instance = (server: RunningServer, port: number): Instance => {
    const owner = personAt(port);
    const url = `http://127.0.0.1:${port}`;
    return {
      server,
      owner,
      page: (section) => openSignedIn(owner, `${serverUrl}/console${section === "" ? "" : `/${section}`}`),
      call: async (tool, input) => JSON.stringify(await (await postMcp(url, toolCall(tool, input), { token })).json()),
    };
  };
  return {
    a: instance(first, portA),
    b: instance(second, portB),
    createToken,
    browserAt: ({ server }) => personAt(server === first ? portA : portB),
    async [Symbol.asyncDispose]() {
      await Promise.all([first.stop(), second.stop()]);
      await place[Symbol.asyncDispose]();
    },
  };
}

/** The page as soon as it has what is looked for. */
function pageWith({ page }: Instance, section: string, pattern: RegExp): Promise<Page> {
  return until(`${section} shows ${pattern}`, async () => {
    const found = await page(section);
    return pattern.test(found.html) ? found : null;
  });
}

const steps: Readonly<Record<string, (pair: Pair) => Promise<void>>> = {
  async "a client whose requests reach both in turn makes one attempt"(pair) {
    const client = createConnectingClient(pair.a.server.url, { name: "between-two", address: "::1" });
    client.browser = pair.browserAt(pair.b);
    const at = (instance: Instance): void => void (client.origin = instance.server.url);
    await client.discover();
    at(pair.b);
    await client.discover();
    assert.equal((await client.register()).status, 201);
    const code = await client.allow();
    at(pair.a);
    assert.equal((await client.redeem(code, { code_verifier: "w".repeat(43) })).status, 400);
  },

  async "a rule that is made on one holds calls of the other, and a decision on one runs them on the other"({ a, b }) {
    const added = await b.owner.submit(await b.page("rules"), { tool: "file_write", verdict: "ask" }, 'value="add"');
    assert.match(added.html, /The rule was added/);
    await pageWith(a, "rules", /file_write/);
    for (const [asks, decides] of [[a, b], [b, a]] as const) {
      const filename = asks === a ? "a.txt" : "b.txt";
      const waiting = asks.call("file_write", { filename, content: "held" });
      const page = await pageWith(decides, "decisions", new RegExp(filename));
      assert.match(await asks.call("file_read", { filename }), /"isError":true/);
      const decided = await decides.owner.submit(page, { decision: "approve" }, 'value="decide"');
      assert.match(decided.html, /(?:Approved|Denied): /);
      assert.match(await waiting, /"isError":false/);
      assert.match(await decides.call("file_read", { filename }), /held/);
      assert.match((await asks.page("decisions")).html, /No call waits for you/); // the file may be below, to be undone
    }
  },

  async "of two decisions at once on two instances one counts, and the other person is told"({ a, b }) {
    const waiting = a.call("file_write", { filename: "race.txt", content: "x" });
    const pages = await Promise.all([a, b].map((each) => pageWith(each, "decisions", /race\.txt/)));
    const [approves, denies] = await Promise.all([
      a.owner.submit(pages[0] as Page, { decision: "approve" }, 'value="decide"'),
      b.owner.submit(pages[1] as Page, { decision: "deny" }, 'value="decide"'),
    ]);
    const won = [approves, denies].map(({ html }) => /(?:Approved|Denied): /.test(html));
    assert.equal(won.filter(Boolean).length, 1);
    assert.match((won[0] ? denies : approves).html, /no longer waits: it was decided/);
    assert.match(await waiting, won[0] ? /"isError":false/ : /A person refused this call/);
  },

  async "a rule that is removed on one lets calls of the other on"({ a, b }) {
    await a.owner.submit(await a.page("rules"), {}, 'value="remove"');
    await until("the other has no rule", async () => /There are no rules/.test((await b.page("rules")).html));
    await until("calls go on", async () => {
      return /"isError":false/.test(await b.call("file_write", { filename: "free.txt", content: "x" }));
    });
  },

  async "calls that ended on one are on the Live page and in the audit of the other"({ a, b }) {
    await a.call("file_read", { filename: "only-on-a.txt" });
    await pageWith(b, "activity", /only-on-a\.txt/);
    for (const look of [1, 2, 3]) {
      assert.match((await b.page("activity")).html, /only-on-a\.txt/, `still, look ${look}`);
    }
    await pageWith(b, "activity", /only-on-a\.txt/);
    await pageWith(b, "", /Calls by hour/);
    await pageWith(b, "", /Clients that called a tool lately/);
  },

  async "a client that is paused on one, and a stop of everything, are refused by the other"({ a, b }) {
    const script = `<form method="post" action="/console/activity">${await csrfOf(b)}</form>`;
    const live = { ...await b.page("activity"), html: script };
    await b.owner.submit(live, { act: "pause", client: "portcullis-cli" });
    await until("the other refuses", async () => /paused/.test(await a.call("file_list", {})));
    await a.owner.submit(await pageWith(a, "activity", /value="resume"/), {}, 'value="resume"');
    await until("the first lets it on", async () => /"isError":false/.test(await b.call("file_list", {})));
    await a.owner.submit(await a.page("activity"), {}, 'value="stop"');
    await until("the other refuses", async () => /stopped all calls/.test(await b.call("file_list", {})));
    assert.match((await b.page("settings")).html, /All calls are stopped/);
    await b.owner.submit(await b.page("activity"), {}, 'value="start"');
    await until("the first lets them on", async () => /"isError":false/.test(await a.call("file_list", {})));
  },

  async "a person who is invited on one signs in at the other, and is locked out of both"(pair) {
    const { a, b } = pair;
    const invited = await a.owner.submit(await a.page("people"), { user: "ada" }, 'value="invite"');
    const link = /<pre>([^<]*)<\/pre>/.exec(invited.html)?.[1] ?? assert.fail(invited.html);
    const passphrase = "a long passphrase of ada";
    const [atA, atB] = [pair.browserAt(a), pair.browserAt(b)];
    await atB.submit(await atB.open(link), { passphrase, confirmation: passphrase });
    for (const browser of [atA, atB]) {
      const asked = await browser.open(`${new URL(link).origin}/console`);
      const isAsked = asked.html.includes('name="passphrase"'); // the one that opened the link is signed in
      const entered = isAsked ? await browser.submit(asked, { username: "ada", passphrase }) : asked;
      assert.match(entered.html, /Overview/);
    }
    await b.owner.submit(await b.page("people"), { user: "ada" }, 'value="disable"');
    for (const browser of [atA, atB]) {
      await until(
        "she is out",
        async () => (await browser.open(`${new URL(link).origin}/console`)).html.includes('name="passphrase"'),
      );
    }
  },

  async "both say the same of that attempt"({ a, b }) {
    for (const instance of [a, b]) {
      const { html } = await pageWith(instance, "why", /PKCE verifier does not fit/);
      const attempts = html.split("<article").filter((part) => part.includes("<h2>between-two</h2>"));
      assert.equal(attempts.length, 1, html);
    }
  },

  async "a connection that is made beside them and ended on one is refused by the other"({ a, b, createToken }) {
    const token = await createToken("nightly");
    const status = async ({ server }: Instance): Promise<number> => {
      const response = await postMcp(server.url, toolCall("file_list", {}), { token });
      await response.body?.cancel();
      return response.status;
    };
    assert.equal(await status(a), 200);
    assert.equal(await status(b), 200);
    const page = await pageWith(a, "connections", /nightly/);
    await a.owner.submit(page, {}, 'aria-label="Remove access of nightly"');
    assert.equal(await status(a), 401);
    assert.equal(await status(b), 401, "from the next request on");
    assert.doesNotMatch((await b.page("connections")).html, /nightly/);
  },
};

async function csrfOf({ page }: Instance): Promise<string> {
  return /<input type="hidden" name="csrf"[^>]*>/.exec((await page("activity")).html)?.[0] ?? assert.fail("no form");
}

async function testPair(
  test: Deno.TestContext,
  database: (directory: string) => Readonly<Record<string, string>>,
): Promise<void> {
  await using pair = await startPair(database);
  for (const [name, run] of Object.entries(steps)) await test.step(name, () => run(pair));
}

const name = (driver: string): string => `the console of two instances on ${driver} is one picture`;

const found = findPostgres();
if ("missing" in found) {
  Deno.test({ name: `SKIPPED ${name("PostgreSQL")}: ${found.missing}`, ignore: true, fn: () => {} });
} else {
  Deno.test(name("PostgreSQL"), async (test) => {
    await using cluster = await startPostgresCluster(found.programs);
    await testPair(test, () => ({ DATABASE_URL: cluster.url }));
  });
}
