/** A server with PUBLIC_DOMAIN as `serve` starts it, behind its wall: first start, renewal under load, faults told. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { serverFlags } from "../fixtures/forms/server_process.ts";
import { freePort } from "../fixtures/free_port.ts";
import { setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, type ServerPlace, spawnServer, startServer } from "../fixtures/running_server.ts";
import { hasProgram, skippedUnless, succeeds } from "../fixtures/skipped_unless.ts";
import { inTime, until } from "../fixtures/until.ts";
import { asking } from "./asking.ts";
import { startPebble, withPebbleHere } from "./pebble.ts";

const name = "mcp.portcullis.test";

/** A place for a public server, with Pebble beside it. */
async function withPlace(
  validitySeconds: number,
  use: (parts: Awaited<ReturnType<typeof makeParts>>) => Promise<void>,
): Promise<void> {
  const parts = await makeParts(validitySeconds);
  try {
    await use(parts);
  } finally {
    await parts.place[Symbol.asyncDispose]();
    await parts.pebble.close();
  }
}

async function makeParts(validitySeconds: number) {
  const [port, httpPort] = [freePort(), freePort()];
  const pebble = await startPebble({ httpPort, validitySeconds });
  const place: ServerPlace = await makeServerPlace();
  const env = {
    PUBLIC_DOMAIN: name,
    HOST: "127.0.0.1",
    PORT: String(port),
    HTTP_PORT: String(httpPort),
    ACME_DIRECTORY: pebble.url,
    DENO_CERT: pebble.authorityFile,
    DATA_DIR: place.dataDir,
    WORKSPACE_DIR: place.workspaceDir,
  };
  return { pebble, place, env, port, httpPort, doctor: () => runCommand(["doctor"], { env }) };
}

const issued = (text: string): number => text.split('"certificate_issued"').length - 1;

Deno.test(
  withPebbleHere("a renewal drops no call, and one that fails is told in log, doctor and console"),
  async () => {
    await withPlace(30, async ({ pebble, place, env, port, doctor }) => {
      const bounds = { certificate: { lookMs: 100 } };
      // before the certificate is issued, which is renewed after twenty seconds
      const created = await runCommand(["token", "create", "--scope", "files:read"], { env });
      const server = await startServer(place, { env, bounds });
      let isOver = false;
      try {
        assert.equal(server.url, `https://${name}`);
        const visit = { goesOnAnyway: false };
        const ask = asking(name, await pebble.root(), port, visit);
        const person = createPerson(server.url, ask);
        await setUpOwner(person, server);
        const token = created.stdout.trim();
        assert.equal(created.code, 0, created.stderr);
        const page = await person.open(`${server.url}/console`);
        assert.match(page.headers.get("strict-transport-security") ?? "", /^max-age=\d+$/);
        assert.match(page.html, /Certificate[\s\S]*for mcp\.portcullis\.test, ends in \d+ seconds/);
        const headers = {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        };
        const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });

        const outcomes: (number | string)[] = [];
        const load = (async () => {
          while (!isOver) {
            const call = () => ask(new URL(`${server.url}/mcp`), { method: "POST", body: message, headers });
            // A connection that closes in its handshake is made again: for the client that may have ended already
            // (TLS 1.3), so that it says that its request was hung up.
            const asked = call().catch((error) => {
              if (/before secure TLS|ECONNRESET|socket hang up/.test(String(error))) return call();
              throw error;
            });
            outcomes.push(await asked.then(({ status }) => status, String));
            await new Promise((resolve) => setTimeout(resolve, 300));
          }
        })();
        // In flight while the certificate is changed: half of its body comes before, half after.
        await until("the last seconds before the renewal", () => endOfFirst(server.stderr()) - Date.now() < 14_000);
        assert.equal(issued(server.stderr()), 1);
        const body = new ReadableStream<Uint8Array>({
          async start(controller) {
            controller.enqueue(new TextEncoder().encode(message.slice(0, 20)));
            await until("the renewal", () => issued(server.stderr()) >= 2);
            await new Promise((resolve) => setTimeout(resolve, 500));
            controller.enqueue(new TextEncoder().encode(message.slice(20)));
            controller.close();
          },
        });
        const inFlight = await ask(new URL(`${server.url}/mcp`), { method: "POST", body, headers });
        assert.equal(inFlight.status, 200);
        assert.match(await inFlight.text(), /file_read/);
        await pebble.stop();
        await until("the first certificate's end", () => Date.now() > endOfFirst(server.stderr()));
        const after = await ask(new URL(`${server.url}/health/live`), {}); // which the first could not be shown for
        assert.equal(after.status, 200);
        isOver = true;
        await load;
        assert.ok(outcomes.length > 20);
        assert.deepEqual(outcomes.filter((status) => status !== 200), []);

        visit.goesOnAnyway = true; // on a busy machine the second certificate ends before the page is there
        await until("a renewal that fails", () => server.stderr().includes('"certificate_failed"'));
        const line = server.stderr().split("\n").find((each) => each.includes('"certificate_failed"')) ?? "";
        assert.match(line, /does not work at the moment: Connection refused.*"inUseUntil":"20/);
        await until(
          "the console's words",
          async () =>
            (await person.open(`${server.url}/console`)).html.includes(
              "and cannot be renewed: the certificate authority",
            ),
        );
        const told = await doctor();
        assert.match(
          told.stdout,
          /certificate: for mcp\.portcullis\.test, (ends in|expired).*, and cannot be renewed: /,
        );
        assert.match(told.stdout, /hint: nothing is wrong with this server's address: wait/);
      } finally {
        isOver = true;
        assert.equal((await server.stop()).code, 0);
      }
    });
  },
);

function endOfFirst(stderr: string): number {
  return Date.parse(/"certificate_issued".*?"until":"([^"]+)"/.exec(stderr)?.[1] ?? "") + 1_000;
}

Deno.test(
  withPebbleHere("without a first certificate the server says why, keeps 443 closed and goes on trying"),
  async () => {
    await withPlace(3_600, async ({ pebble, place, env, port, httpPort, doctor }) => {
      await pebble.lead(name, "127.0.0.3");
      const server = spawnServer(place, { env });
      const stderr = new Response(server.stderr).text();
      const stdout = new Response(server.stdout).text();
      try {
        await until(
          "port 80",
          () => fetch(`http://127.0.0.1:${httpPort}/`).then((response) => response.text(), () => null),
        );
        await until("the failure", async () => (await doctor()).stdout.includes("FAIL  certificate"));
        const waiting = await fetch(`http://127.0.0.1:${httpPort}/`, { redirect: "manual" });
        assert.equal(waiting.status, 503);
        assert.match(await waiting.text(), /waits for its certificate/);
        await assert.rejects(Deno.connect({ hostname: "127.0.0.1", port }), Deno.errors.ConnectionRefused);
        const told = (await doctor()).stdout;
        assert.match(
          told,
          /^FAIL {2}certificate: none for mcp\.portcullis\.test: localhost:\d+ cannot connect to port 80/m,
        );
        assert.match(told, /hint: open port 80 .*\(next attempt: 20/);
        assert.match(told, /a Portcullis server answers on 127\.0\.0\.1 port \d+/);
      } finally {
        server.kill("SIGTERM");
        assert.equal((await inTime("the end", server.status)).code, 0);
      }
      assert.match(await stderr, /certificate +none yet, so clients cannot connect/);
      assert.match(await stderr, /"certificate_failed".*"remedy":"open port 80/);
      assert.doesNotMatch(await stdout, /listening/);
    });
  },
);

for (const [setting, what] of [["PORT", "443"], ["HTTP_PORT", "80"]] as const) {
  Deno.test(withPebbleHere(`a start that cannot have ${setting} names it, and doctor does`), async () => {
    await withPlace(3_600, async ({ env, doctor }) => {
      const taken = Deno.serve(
        { hostname: "127.0.0.1", port: Number(env[setting]), onListen: () => {} },
        () => new Response("Welcome to nginx!"),
      );
      try {
        const { code, stderr } = await runCommand(["serve"], { env });
        assert.equal(code, 1);
        assert.match(stderr, new RegExp(`^error: cannot listen on 127\\.0\\.0\\.1 port ${env[setting]}.*in use`, "m"));
        assert.match(
          stderr,
          new RegExp(`^hint: end what listens.*or set ${setting} to a port to which ${what} is`, "m"),
        );
        assert.match((await doctor()).stdout, new RegExp(`FAIL {2}port: cannot listen on .*${env[setting]}`));
      } finally {
        await taken.shutdown();
      }
    });
  });
}

const reservesPorts = Deno.build.os === "linux" && hasProgram("setpriv") && Deno.uid() === 0 &&
  Number(readFileSync("/proc/sys/net/ipv4/ip_unprivileged_port_start", "utf8")) > 80;

Deno.test(
  skippedUnless(reservesPorts, "root and setpriv are needed", "a start without the right to bind says how to give it"),
  async () => {
    await using place = await makeServerPlace();
    const env = { PUBLIC_DOMAIN: name, HOST: "127.0.0.1", PORT: String(freePort()), HTTP_PORT: "80" };
    const started = startServer(place, { env, args: [], launcher: ["setpriv", "--bounding-set=-net_bind_service"] });
    await assert.rejects(started, (error: Error) => {
      assert.match(
        error.message,
        /^error: cannot listen on 127\.0\.0\.1 port 80 for the certificate authority.*permission/m,
      );
      assert.match(error.message, /^hint: .*AmbientCapabilities=CAP_NET_BIND_SERVICE.*HTTP_PORT/m);
      return true;
    });
  },
);

/** Whether the ports of the internet can be had here, and a table of hosts of the test's own. */
function hasWellKnownPorts(): boolean {
  try {
    for (const port of [443, 80]) Deno.listen({ hostname: "127.0.0.1", port }).close();
    return succeeds("unshare", ["--mount", "true"]);
  } catch {
    return false;
  }
}

Deno.test(
  skippedUnless(
    hasWellKnownPorts() && withPebbleHere("").ignore === false,
    "it needs Pebble, ports 443 and 80, and a mount namespace",
    "one setting is enough, and doctor asks from the outside in: name, port, certificate, path, metadata, /mcp",
  ),
  async () => {
    const pebble = await startPebble({ httpPort: 80 });
    await using place = await makeServerPlace();
    const env = { ACME_DIRECTORY: pebble.url, HOST: "127.0.0.1", DENO_CERT: pebble.authorityFile };
    const server = await startServer(place, { env, args: ["--public", name], launcher: ["env"] });
    try {
      const authorities = `${pebble.directory}/authorities.pem`;
      await Deno.writeTextFile(authorities, await Deno.readTextFile(pebble.authorityFile) + await pebble.root());
      const hosts = `${pebble.directory}/hosts`;
      await Deno.writeTextFile(hosts, `127.0.0.1 localhost ${name}\n`);
      const doctor = [Deno.execPath(), "run", ...serverFlags, "main.ts", "doctor"].join(" ");
      const { stdout } = await new Deno.Command("unshare", {
        args: ["--mount", "sh", "-c", `mount --bind ${hosts} /etc/hosts && ${doctor}`],
        env: {
          ...{ ...env, DENO_CERT: authorities, PUBLIC_DOMAIN: name, NO_COLOR: "1" },
          ...{ DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir },
        },
      }).output();
      const told = new TextDecoder().decode(stdout);
      const expected = [
        /^ok {4}port: a Portcullis server answers on 127\.0\.0\.1 port 443$/m,
        /^ok {4}port: a Portcullis server answers on 127\.0\.0\.1 port 80$/m,
        /^ok {4}certificate: for mcp\.portcullis\.test, ends in /m,
        /^warn {2}public address: mcp\.portcullis\.test leads to 127\.0\.0\.1, which the internet cannot reach/m,
        /^ok {4}certificate: mcp\.portcullis\.test shows a trusted certificate$/m,
        /^ok {4}public address: port 80 of mcp\.portcullis\.test leads to this server$/m,
        /^ok {4}metadata: https:\/\/mcp\.portcullis\.test\/\.well-known\/oauth-authorization-server$/m,
        /^ok {4}metadata: https:\/\/mcp\.portcullis\.test\/mcp asks for a sign-in/m,
      ];
      const places = expected.map((line) => told.search(line));
      assert.ok(places.every((at) => at >= 0), told);
      assert.deepEqual(places, places.toSorted((a, b) => a - b));
    } finally {
      await server.stop();
      await pebble.close();
    }
  },
);
