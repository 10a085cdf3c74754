/** The proxies as docs/operations.md configures them, where they are installed. */
import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { freePort } from "../fixtures/free_port.ts";
import { postMcpAnew, toolCall } from "../fixtures/mcp_call.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";
import { inTime, until } from "../fixtures/until.ts";
import { hasProgram, skippedUnless } from "../fixtures/skipped_unless.ts";

const inOneProcess = needing("one process");

const documentation = await Deno.readTextFile(new URL("../../docs/operations.md", import.meta.url));

function snippet(language: string): string {
  const found = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(documentation)?.[1];
  assert.ok(found !== undefined, `docs/operations.md configures ${language}`);
  return found;
}

inOneProcess.test({
  ...skippedUnless(
    hasProgram("nginx"),
    "there is no nginx",
    "nginx with the limits of docs/operations.md: a client is served beside 1,000 silent connections, which end",
  ),
  fn: async () => {
    await using place = await makeServerPlace();
    const { stdout } = await runCommand(["token", "create", "--scope", "files:read", "--data-dir", place.dataDir]);
    const [port, upstream] = [freePort(), freePort()];
    await using server = await startServer(place, {
      launcher: ["sh", "-c", 'ulimit -n 300 && exec "$@"', "sh"],
      args: ["--port", String(upstream)],
      env: { SERVER_URL: `http://127.0.0.1:${port}`, TRUST_PROXY: "127.0.0.1" },
    });
    const configuration = snippet("nginx")
      .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
      .replaceAll(/^ *ssl_certificate.*\n/gm, "")
      .replace("127.0.0.1:3000", `127.0.0.1:${upstream}`)
      .replace("proxy_set_header Host $host;", "proxy_set_header Host $http_host;")
      .replace("client_header_timeout 10s", "client_header_timeout 3s");
    const directory = await Deno.makeTempDir();
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${directory}/${name};`).join(" ");
    await Deno.writeTextFile(
      `${directory}/nginx.conf`,
      `daemon off; pid ${directory}/pid; error_log stderr; worker_rlimit_nofile 4000;\n` +
        `events { worker_connections 2000; }\nhttp { access_log off; ${temporary}\n${configuration}}\n`,
    );
    const nginx = new Deno.Command("nginx", {
      args: ["-p", directory, "-c", `${directory}/nginx.conf`],
      stderr: "null",
    }).spawn();
    try {
      await until(
        "nginx",
        () => Deno.connect({ hostname: "127.0.0.1", port }).then((it) => (it.close(), true), () => false),
      );
      const silent = await Promise.all(
        Array.from({ length: 1_000 }, () => Deno.connect({ hostname: "127.0.0.1", port })),
      );
      const call = await postMcpAnew(`http://127.0.0.1:${port}`, toolCall("file_list", {}), stdout.trim());
      assert.equal(call.status, 200, call.text);
      const ends = silent.map((connection) => connection.read(new Uint8Array(1_024)).catch(() => null));
      await inTime("the end of the silent connections", Promise.all(ends));
      for (const connection of silent) connection.close();
      assert.doesNotMatch(server.stderr(), /accept_failed/);
    } finally {
      nginx.kill("SIGTERM");
      await nginx.status;
      await Deno.remove(directory, { recursive: true });
    }
  },
});

Deno.test({
  ...skippedUnless(
    hasProgram("caddy"),
    "there is no Caddy",
    "Caddy as docs/operations.md configures it names the client, whatever addresses the client claims",
  ),
  fn: async () => {
    const seen: Headers[] = [];
    await using upstream = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ headers }) => {
      seen.push(headers);
      return new Response();
    });
    const port = freePort();
    const configuration = snippet("caddyfile")
      .replace("{\n", "{\n  admin off\n")
      .replace("mcp.example.com", `http://127.0.0.1:${port}`)
      .replace("127.0.0.1:3000", `127.0.0.1:${upstream.addr.port}`);
    const directory = await Deno.makeTempDir();
    await Deno.writeTextFile(`${directory}/Caddyfile`, configuration);
    const caddy = new Deno.Command("caddy", {
      args: ["run", "--adapter", "caddyfile", "--config", `${directory}/Caddyfile`],
      env: { HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory },
      stderr: "null",
      stdout: "null",
    }).spawn();
    try {
      const claimed = { "x-forwarded-for": "6.6.6.6", forwarded: "for=6.6.6.6" };
      const ask = (): Promise<boolean> =>
        fetch(`http://127.0.0.1:${port}/`, { headers: claimed })
          .then((answer) => (answer.body?.cancel(), answer.ok), () => false);
      await until("Caddy", ask);
      assert.deepEqual([seen[0]?.get("x-forwarded-for"), seen[0]?.get("forwarded")], ["127.0.0.1", null]);
    } finally {
      caddy.kill("SIGTERM");
      await caddy.status;
      await Deno.remove(directory, { recursive: true });
    }
  },
});

Deno.test({
  ...skippedUnless(
    hasProgram("systemd-analyze"),
    "there is no systemd-analyze",
    "systemd takes the unit of docs/operations.md",
  ),
  fn: async () => {
    const directory = await Deno.makeTempDir();
    try {
      const unit = snippet("ini").replace(/^ExecStart=\S+/m, `ExecStart=${Deno.execPath()}`);
      await Deno.writeTextFile(`${directory}/portcullis.service`, unit);
      const args = ["verify", `${directory}/portcullis.service`];
      const { code, stderr } = await new Deno.Command("systemd-analyze", { args, stdout: "null", stderr: "piped" })
        .output();
      assert.deepEqual([code, new TextDecoder().decode(stderr)], [0, ""]);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});
