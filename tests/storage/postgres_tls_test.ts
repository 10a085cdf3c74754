import assert from "node:assert/strict";
import { UnusableError } from "../../src/lib/result.ts";
import type { PostgresLocation } from "../../src/storage/mod_settings.ts";
import { openPostgresStorage } from "../../src/storage/postgres_storage.ts";
import { hasProgram } from "../fixtures/skipped_unless.ts";
import { put } from "./contract.ts";
import { findPostgres, startPostgresCluster } from "./postgres_cluster.ts";

const found = hasProgram("openssl") ? findPostgres() : { missing: "there is no openssl" };
const name = "postgres storage: TLS means a verified certificate for the name that was asked for";

async function openssl(directory: string, args: string): Promise<void> {
  const done = await new Deno.Command("openssl", { args: args.split(" "), cwd: directory }).output();
  assert.ok(done.success, new TextDecoder().decode(done.stderr));
}

async function makeAuthority(directory: string, authority: string): Promise<void> {
  const files = `-keyout ${authority}.key -out ${authority}.crt`;
  await openssl(directory, `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=${authority} ${files}`);
}

/** `server.crt` and `server.key`, signed by the authority `ca`. */
async function makeCertificate(directory: string, host: string): Promise<void> {
  await openssl(directory, `req -newkey rsa:2048 -nodes -subj /CN=${host} -keyout new.key -out server.csr`);
  await Deno.writeTextFile(`${directory}/extensions`, `subjectAltName=DNS:${host}\n`);
  const authority = "-CA ca.crt -CAkey ca.key -CAcreateserial -days 2";
  await openssl(directory, `x509 -req -in server.csr ${authority} -extfile extensions -out server.crt`);
  await Deno.writeTextFile(`${directory}/server.key`, await Deno.readTextFile(`${directory}/new.key`), { mode: 0o600 });
}

if ("missing" in found) {
  Deno.test({ name: `SKIPPED postgres storage TLS test: ${found.missing}`, ignore: true, fn: () => {} });
} else {
  Deno.test(name, async () => {
    let directory = "";
    await using cluster = await startPostgresCluster(found.programs, {
      settings: ["ssl = on"],
      prepare: async (data) => {
        directory = data;
        await makeAuthority(data, "ca");
        await makeAuthority(data, "other");
        await makeCertificate(data, "localhost");
      },
    });
    const url = new URL(cluster.url);
    const location: PostgresLocation = {
      kind: "postgres",
      host: "localhost",
      port: cluster.port,
      database: "postgres",
      user: url.username,
      password: url.password,
      tls: true,
      rootCertificatePath: `${directory}/ca.crt`,
    };
    const limits = { startTimeoutMs: 100 };
    const storage = await openPostgresStorage({ location, clock: Date.now, limits });
    await put(storage, ["k"], 1);
    const encrypted = await cluster.administer(
      "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'portcullis'",
    );
    assert.equal(encrypted, "t");
    await storage.close();
    const refuses = (wrong: PostgresLocation, why: RegExp) =>
      assert.rejects(openPostgresStorage({ location: wrong, clock: Date.now, limits }), (error: unknown) => {
        assert.ok(error instanceof UnusableError);
        assert.match(error.message, why);
        return true;
      });
    const { rootCertificatePath: _, ...withoutRoot } = location;
    await refuses(withoutRoot, /UNABLE_TO_VERIFY/);
    await refuses({ ...location, rootCertificatePath: `${directory}/other.crt` }, /UNABLE_TO_VERIFY|SIGNATURE/);
    await makeCertificate(directory, "elsewhere");
    await cluster.administer("SELECT pg_reload_conf()");
    await refuses(location, /altnames/);
    await openPostgresStorage({ location: { ...location, tls: false }, clock: Date.now }).then((open) => open.close());
  });
}
