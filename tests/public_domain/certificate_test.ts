/** The certificate of PUBLIC_DOMAIN, got from Pebble by real challenges, and every way in which none is to be had. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { judgeCertificateState } from "../../src/app/doctor_machine.ts";
import { openInstallation } from "../../src/app/installation.ts";
import { moveToMasterKey } from "../../src/app/move_to_master_key.ts";
import { createCertificateKeeper, readCertificateState } from "../../src/http/public_certificate.ts";
import type { ServedCertificate } from "../../src/http/public_certificate.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import { systemTimers } from "../../src/lib/time.ts";
import { freePort } from "../fixtures/free_port.ts";
import { until } from "../fixtures/until.ts";
import { type Pebble, startPebble, withPebbleHere } from "./pebble.ts";

const name = "mcp.portcullis.test";

interface Answers {
  (request: Request): Response | Promise<Response>;
}

/** An installation with Pebble beside it, and what makes keepers on it. */
async function withPebble(use: (place: Awaited<ReturnType<typeof makePlace>>) => Promise<void>): Promise<void> {
  const place = await makePlace();
  try {
    await use(place);
  } finally {
    await place.close();
  }
}

async function makePlace() {
  const httpPort = freePort();
  const pebble: Pebble = await startPebble({ httpPort });
  await pebble.lead(name, "127.0.0.1");
  const { storage, secrets } = await openInstallation({ dataDir: `${pebble.directory}/data` }, Date.now);
  const client = Deno.createHttpClient({ caCerts: [await Deno.readTextFile(pebble.authorityFile)] });
  const servers: Deno.HttpServer[] = [];
  const keepers: { close(): Promise<void> }[] = [];
  const trusting: typeof fetch = (input, init) => fetch(input, { ...init, client });
  return {
    pebble,
    storage,
    secrets,
    httpPort,
    fetch: trusting,
    /** `servePort80`: what answers there; the keeper's own endpoint unless given, `null` for nothing. */
    keeper(
      options: {
        readonly fetch?: typeof fetch;
        readonly clock?: () => number;
        readonly lookMs?: number;
        readonly servePort80?: ((answer: Answers) => Answers) | null;
      } = {},
    ) {
      const { servePort80 = (answer) => answer, ...given } = options;
      const used: ServedCertificate[] = [];
      const lines: { readonly event: string; readonly fields: Readonly<Record<string, unknown>> }[] = [];
      const keeper = createCertificateKeeper({
        name,
        directory: pebble.url,
        storage,
        secrets,
        clock: Date.now,
        timers: systemTimers,
        fetch: trusting,
        log: { write: (_level, event, fields = {}) => void lines.push({ event, fields }), flush: () => {} },
        onCertificate: (certificate) => Promise.resolve(void used.push(certificate)),
        ...given,
      });
      keepers.push(keeper);
      if (servePort80 !== null && servers.length === 0) {
        servers.push(
          Deno.serve(
            { hostname: "127.0.0.1", port: httpPort, onListen: () => {} },
            servePort80((request) => keeper.answer(request)),
          ),
        );
      }
      return { ...keeper, used, lines };
    },
    /** Another server, at another address of this machine. */
    serveAt: (hostname: string, answer: Answers) =>
      void servers.push(Deno.serve({ hostname, port: httpPort, onListen: () => {} }, answer)),
    state: () => readCertificateState(storage, name),
    async close() {
      await Promise.all(keepers.map((keeper) => keeper.close()));
      await Promise.all(servers.map((server) => server.shutdown()));
      client.close();
      await storage.close();
      await pebble.close();
    },
  };
}

Deno.test(
  withPebbleHere("a first certificate is for the name, and its key is stored sealed"),
  async () => {
    await withPebble(async ({ keeper, state, storage, pebble }) => {
      const first = keeper();
      await first.start();
      assert.equal(first.used.length, 1, JSON.stringify(first.lines));
      const [{ certificates, privateKey } = { certificates: "", privateKey: "" }] = first.used;
      const own = new X509Certificate(certificates);
      assert.equal(own.checkHost(name), name);
      assert.match(privateKey, /^-----BEGIN PRIVATE KEY-----\n/);
      const { current, failed } = await state();
      assert.equal(failed, null);
      assert.equal(current?.ends, Date.parse(own.validTo));
      const stored = JSON.stringify(await storage.list(["public_certificate"], { limit: 100 }));
      assert.ok(!stored.includes("PRIVATE KEY") && !stored.includes('"d"'));

      const second = keeper(); // a restart asks the authority for nothing
      await pebble.stop();
      await second.start();
      assert.equal(second.used[0]?.privateKey, privateKey);
      assert.deepEqual(second.lines, []);
    });
  },
);

/** What the operator is told, by fault: the culprit, then what to do. */
const faults: readonly {
  readonly fault: string;
  readonly arrange: (place: Awaited<ReturnType<typeof makePlace>>) => Promise<Parameters<typeof place.keeper>[0]>;
  readonly culprit: RegExp;
  readonly remedy: RegExp;
}[] = [
  {
    fault: "the name has no address",
    arrange: async ({ pebble }) => (await pebble.lead(name, null), {}),
    culprit: /^the name mcp\.portcullis\.test has no address that localhost:\d+ can find/,
    remedy: /make a DNS record/,
  },
  {
    fault: "the name leads to a machine that answers nothing on port 80",
    arrange: async ({ pebble }) => (await pebble.lead(name, "127.0.0.3"), {}),
    culprit: /^localhost:\d+ cannot connect to port 80 of mcp\.portcullis\.test/,
    remedy: /open port 80 in the firewall and the router, and point the DNS record/,
  },
  {
    fault: "the name leads to another server",
    arrange: async ({ pebble, serveAt }) => {
      await pebble.lead(name, "127.0.0.2");
      serveAt("127.0.0.2", () => new Response("Welcome to nginx!", { status: 404 }));
      return {};
    },
    culprit: /^mcp\.portcullis\.test leads to another server/,
    remedy: /point its DNS records/,
  },
  {
    fault: "the name leads to a server that says something else",
    arrange: async ({ pebble, serveAt }) => {
      await pebble.lead(name, "127.0.0.2");
      serveAt("127.0.0.2", () => new Response("Welcome to nginx!"));
      return {};
    },
    culprit: /^mcp\.portcullis\.test leads to another server/,
    remedy: /point its DNS records/,
  },
  {
    fault: "something changes the answer to the challenge",
    arrange: () =>
      Promise.resolve({
        servePort80: (answer) => async (request) => {
          await answer(request);
          return new Response("<html>Please sign in to the guest network</html>");
        },
      }),
    culprit: /asked this server for its proof of mcp\.portcullis\.test and did not accept it/,
    remedy: /look for a proxy that changes answers on port 80/,
  },
  {
    fault: "the authority is down",
    arrange: async ({ pebble }) => (await pebble.stop(), {}),
    culprit: /^the certificate authority localhost:\d+ does not work at the moment: Connection refused/,
    remedy: /^nothing is wrong with this server's address: wait/,
  },
  {
    fault: "the authority fails",
    arrange: ({ fetch }) =>
      Promise.resolve({
        fetch: (input, init) =>
          init?.method === "POST" ? Promise.resolve(new Response("", { status: 500 })) : fetch(input, init),
      }),
    culprit: /^the certificate authority localhost:\d+ does not work at the moment: it answers with status 500/,
    remedy: /wait/,
  },
  {
    fault: "the authority is no ACME server",
    arrange: () => Promise.resolve({ fetch: () => Promise.resolve(new Response("<html>")) }),
    culprit: /its answer is not ACME/,
    remedy: /choose another authority with ACME_DIRECTORY/,
  },
  {
    fault: "the authority leads elsewhere",
    arrange: () => {
      const elsewhere = "https://169.254.169.254/";
      const directory = { newNonce: elsewhere, newAccount: elsewhere, newOrder: elsewhere };
      return Promise.resolve({ fetch: () => Promise.resolve(Response.json(directory)) });
    },
    culprit: /it names a URL elsewhere: https:\/\/169\.254\.169\.254/,
    remedy: /ACME_DIRECTORY/,
  },
  {
    fault: "the authority is not trusted",
    arrange: () => Promise.resolve({ fetch }),
    culprit: /^the certificate authority localhost:\d+ shows a certificate that is not trusted here/,
    remedy: /DENO_CERT/,
  },
  {
    fault: "the rate limit of the authority",
    arrange: ({ fetch }) =>
      Promise.resolve({
        fetch: (input, init) =>
          String(input).includes("order")
            ? Promise.resolve(
              Response.json({
                type: "urn:ietf:params:acme:error:rateLimited",
                detail: "too many certificates (5) already issued for this exact set of identifiers in the last 168h",
              }, { status: 429, headers: { "retry-after": "86400" } }),
            )
            : fetch(input, init),
      }),
    culprit: /^the certificate authority localhost:\d+ has had too many requests for .*: too many certificates \(5\)/,
    remedy: /^wait: starting again does not help/,
  },
  {
    fault: "a clock that is behind",
    arrange: () => Promise.resolve({ clock: () => Date.now() - 3 * 86_400_000 }),
    culprit: /^this machine's clock is 3 days behind that of the certificate authority/,
    remedy: /^set this machine's clock/,
  },
  {
    fault: "a clock that is ahead",
    arrange: () => Promise.resolve({ clock: () => Date.now() + 7_200_000 }),
    culprit: /^this machine's clock is 2 hours ahead of that of the certificate authority/,
    remedy: /^set this machine's clock/,
  },
  {
    fault: "a clock by which the authority's own certificate has expired",
    arrange: () =>
      Promise.resolve({
        fetch: () =>
          Promise.reject(new TypeError("fetch failed", { cause: new Error("invalid peer certificate: Expired") })),
      }),
    culprit: /^by this machine's clock \(20.*Z\) the certificate of localhost:\d+ is not valid/,
    remedy: /^set this machine's clock/,
  },
];

for (const { fault, arrange, culprit, remedy } of faults) {
  Deno.test(withPebbleHere(`the culprit is named: ${fault}`), async () => {
    await withPebble(async (place) => {
      const keeper = place.keeper(await arrange(place));
      await keeper.start();
      assert.equal(keeper.used.length, 0);
      const { failed, current } = await place.state();
      assert.match(failed?.problem ?? "", culprit);
      assert.match(failed?.remedy ?? "", remedy);
      const told = keeper.lines.find(({ event }) => event === "certificate_failed")?.fields;
      assert.equal(told?.["problem"], failed?.problem);
      const [check] = judgeCertificateState({ failed, current }, { name, clock: Date.now }); // doctor, console
      assert.equal(check?.state, "broken");
      assert.ok(check?.text.includes(failed?.problem ?? "-"));
    });
  });
}

Deno.test(
  withPebbleHere("a certificate is renewed at a third of its life, one that cannot be stays"),
  async () => {
    await withPebble(async ({ keeper, state, pebble }) => {
      let now = Date.now();
      const kept = keeper({ clock: () => now, lookMs: 20 });
      await kept.start();
      const [first] = kept.used;
      const { current } = await state();
      assert.ok(first && current);
      await pebble.stop();
      now = current.ends - (current.ends - current.from) / 3 - 1_000;
      await new Promise((resolve) => setTimeout(resolve, 200));
      assert.equal((await state()).failed, null);

      now += 2_000; // the authority's clock goes on as it was: it is asked by a clock that is not
      await until("a failed renewal", async () => (await state()).failed);
      const failing = await state();
      assert.equal(failing.current?.certificates, first.certificates);
      const [check] = judgeCertificateState(failing, { name, clock: () => now });
      assert.equal(check?.state, "warning");
      assert.match(check?.text ?? "", /ends in 8 hours, on 20.*, and cannot be renewed: the certificate authority/);
      const line = kept.lines.find(({ event }) => event === "certificate_failed");
      assert.equal(line?.fields["inUseUntil"], new Date(current.ends).toISOString());
      const [expired] = judgeCertificateState(failing, { name, clock: () => current.ends + 86_400_000 });
      assert.equal(expired?.state, "broken");
      assert.match(expired?.text ?? "", /expired 24 hours ago|expired 1 day ago/);
    });
  },
);

Deno.test(
  withPebbleHere("attempts are further and further apart, and a restart does not get around it"),
  async () => {
    await withPebble(async ({ keeper, state, pebble }) => {
      await pebble.stop();
      let now = Date.now();
      const counts: number[] = [];
      for (let start = 0; start < 6; start++) {
        const tried = keeper({ clock: () => now, servePort80: null });
        await tried.start();
        await tried.close();
        counts.push((await state()).failed?.count ?? 0);
      }
      assert.deepEqual(counts, [1, 2, 3, 4, 4, 4]);
      now += 900_001;
      const later = keeper({ clock: () => now, servePort80: null });
      await later.start();
      assert.equal((await state()).failed?.count, 5);
      const { failed } = await state();
      assert.equal((failed?.retryAt ?? 0) - (failed?.at ?? 0), 21_600_000);
    });
  },
);

Deno.test(
  withPebbleHere("of several instances one gets the certificate, and all serve it"),
  async () => {
    await withPebble(async ({ keeper, fetch }) => {
      let orders = 0;
      const counting: typeof fetch = (input, init) => {
        if (/order-plz/.test(String(input))) orders++;
        return fetch(input, init);
      };
      const fleet = [1, 2, 3].map(() => keeper({ fetch: counting, lookMs: 50 }));
      await Promise.all(fleet.map((each) => each.start()));
      await until("a certificate on each", () => fleet.every(({ used }) => used.length === 1));
      assert.equal(new Set(fleet.map(({ used }) => used[0]?.certificates)).size, 1);
      assert.equal(fleet.flatMap(({ lines }) => lines).filter(({ event }) => event === "certificate_issued").length, 1);
      assert.ok(orders >= 1 && orders <= 10, `${orders}`); // nonces are refused now and then
    });
  },
);

Deno.test(
  withPebbleHere("port 80 leads to the name, whatever Host says, and guesses find nothing"),
  async () => {
    await withPebble(async ({ keeper }) => {
      const kept = keeper();
      const ask = (path: string, init?: RequestInit) => kept.answer(new Request(`http://evil.example${path}`, init));
      assert.equal((await ask("/")).status, 503);
      await kept.start();
      for (const path of ["/", "/mcp?a=b", "//evil.example/x", "/.well-known/acme-challenge", "/@evil.example"]) {
        const response = await ask(path, { method: path === "/" ? "POST" : "GET" });
        assert.equal(response.status, 308);
        const location = response.headers.get("location") ?? "";
        assert.equal(new URL(location).host, name, location);
        assert.ok(location.endsWith(path));
      }
      for (const token of ["x".repeat(30), "x".repeat(128)]) {
        assert.equal((await ask(`/.well-known/acme-challenge/${token}`)).status, 404);
      }
    });
  },
);

Deno.test(
  withPebbleHere("a change of the master key keeps the certificate and the account"),
  async () => {
    await withPebble(async ({ keeper, storage, secrets, pebble }) => {
      await keeper().start();
      const to = createSecretBox(crypto.getRandomValues(new Uint8Array(32)));
      assert.notEqual(await moveToMasterKey({ storage, clock: Date.now }, { from: secrets, to }), null);
      await pebble.stop();
      const used: ServedCertificate[] = [];
      const moved = createCertificateKeeper({
        ...{ name, directory: pebble.url, storage, clock: Date.now, timers: systemTimers, fetch },
        secrets: to,
        log: { write: () => {}, flush: () => {} },
        onCertificate: (certificate) => Promise.resolve(void used.push(certificate)),
      });
      await moved.start();
      await moved.close();
      assert.equal(used.length, 1);
    });
  },
);
