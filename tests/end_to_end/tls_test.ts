/** https from files, on a server as it is started. Skipped where there is no openssl to make a certificate. */
import assert from "node:assert/strict";
import { type CertificateFiles, hasOpenssl, makeCertificate } from "../fixtures/certificate.ts";
import { form } from "../fixtures/forms/chosen_form.ts";
import { freePort } from "../fixtures/free_port.ts";
import { makeServerPlace, runCommand, type ServerPlace, startServer } from "../fixtures/running_server.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";

const lacks = hasOpenssl() ? form.lacks["other files"] : "there is no openssl";
const ownLack = lacks ?? form.lacks["own listener"];

async function makeFiles(
  place: ServerPlace,
): Promise<{ readonly files: CertificateFiles; env: Record<string, string> }> {
  const directory = place.dataDir.replace(/data$/, "tls");
  await Deno.mkdir(directory);
  const files = await makeCertificate(directory, "server");
  return { files, env: { TLS_CERT_FILE: files.certificateFile, TLS_KEY_FILE: files.keyFile } };
}

async function problemOf(env: Record<string, string>): Promise<string> {
  const { code, stderr } = await runCommand(["serve", "--port", "0"], { env });
  assert.notEqual(code, 0);
  assert.ok(!stderr.includes("PRIVATE KEY"), stderr);
  return stderr;
}

Deno.test({
  ...skippedUnless(
    ownLack === undefined,
    ownLack ?? "",
    "with TLS_CERT_FILE and TLS_KEY_FILE the server speaks https, by HTTP/1.1 and HTTP/2, under an https issuer",
  ),
  async fn() {
    await using place = await makeServerPlace();
    const { files, env } = await makeFiles(place);
    const { stdout: token } = await runCommand(["token", "create", "--scope", "files:read"], {
      env: { ...env, DATA_DIR: place.dataDir },
    });
    await using server = await startServer(place, { env });
    const { port } = new URL(server.url);
    assert.equal(server.url, `https://127.0.0.1:${port}`);
    for (const http2 of [false, true]) {
      const client = Deno.createHttpClient({ caCerts: [files.certificate], http1: !http2, http2 });
      try {
        for (const url of [server.url, `https://localhost:${port}`]) {
          const metadata = await fetch(`${url}/.well-known/oauth-authorization-server`, { client });
          assert.equal((await metadata.json()).issuer, server.url);
          // RFC 9728 §3.3: a client finds the address that it typed, in HTTP/2 too, where no Host header says it.
          const resource = await fetch(`${url}/.well-known/oauth-protected-resource`, { client });
          assert.equal((await resource.json()).resource, `${url}/mcp`);
        }
        const listed = await fetch(`${server.url}/mcp`, {
          method: "POST",
          headers: { "content-type": "application/json", authorization: `Bearer ${token.trim()}` },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
          client,
        });
        assert.equal(listed.status, 200);
        assert.ok((await listed.json()).result.tools.length > 0);
      } finally {
        client.close();
      }
    }
    const check = await runCommand(["healthcheck", "--port", port], { env });
    assert.deepEqual([check.code, check.stderr], [0, ""]);
    await assert.rejects(fetch(`http://127.0.0.1:${port}/health`), "plain http is not answered");
    const connect = await runCommand(["connect", "claude-code", "--port", "8443"], { env });
    assert.match(connect.stdout, /https:\/\/127\.0\.0\.1:8443\/mcp/);
  },
});

Deno.test({
  ...skippedUnless(
    ownLack === undefined,
    ownLack ?? "",
    "a host that is not the server's is refused by https too, also when HTTP/2 leaves the Host header out",
  ),
  async fn() {
    await using place = await makeServerPlace();
    const { files, env } = await makeFiles(place);
    const port = freePort();
    await using server = await startServer(place, {
      env: { ...env, SERVER_URL: "https://mcp.example", REGISTRATION: "off" },
      args: ["--port", String(port)],
    });
    assert.equal(server.url, "https://mcp.example");
    const client = Deno.createHttpClient({ caCerts: [files.certificate], http1: false, http2: true });
    try {
      const response = await fetch(`https://localhost:${port}/health`, { client });
      assert.equal(response.status, 403);
      await response.body?.cancel();
    } finally {
      client.close();
    }
  },
});

Deno.test({
  ...skippedUnless(
    lacks === undefined,
    lacks ?? "",
    "the server does not start with half of TLS, an unusable file, a foreign key, or an http SERVER_URL beside it",
  ),
  async fn() {
    await using place = await makeServerPlace();
    const { files, env } = await makeFiles(place);
    const dirs = { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir };
    const missing = `${files.keyFile}.gone`;
    const half = await problemOf({ TLS_CERT_FILE: files.certificateFile });
    assert.match(half, /TLS_KEY_FILE = \(not set\): must be set together/);
    assert.match(await problemOf({ TLS_KEY_FILE: files.keyFile }), /TLS_CERT_FILE = \(not set\)/);
    assert.match(await problemOf({ ...env, TLS_KEY_FILE: missing }), /TLS_KEY_FILE = .*cannot be read/);
    assert.match(await problemOf({ ...env, TLS_CERT_FILE: files.keyFile }), /TLS_CERT_FILE = .*must name a PEM file/);
    assert.match(await problemOf({ ...env, TLS_KEY_FILE: files.certificateFile }), /TLS_KEY_FILE = .*private key/);
    assert.match(await problemOf({ ...env, SERVER_URL: "http://localhost:1" }), /SERVER_URL = .*must be https/);
    const foreign = await makeCertificate(place.dataDir.replace(/data$/, "tls"), "foreign");
    const mismatch = await problemOf({ ...env, ...dirs, TLS_KEY_FILE: foreign.keyFile });
    assert.match(mismatch, /^error: cannot serve https: .*\nhint: TLS_CERT_FILE has to name/m);
  },
});
