/** Pebble, the ACME test server of Let's Encrypt, with a DNS of its own: real challenges over the loopback address. */
import { join } from "node:path";
import { makeAuthority } from "../fixtures/certificate.ts";
import { freePort } from "../fixtures/free_port.ts";
import { needsPrograms } from "../fixtures/skipped_unless.ts";
import { until } from "../fixtures/until.ts";

/** A test that starts Pebble, whose own certificate openssl makes. */
export const withPebbleHere = (name: string) => needsPrograms(["pebble", "pebble-challtestsrv", "openssl"], name);

const day = (fromNow: number): string =>
  new Date(Date.now() + fromNow * 86_400_000).toISOString().slice(0, 10).replaceAll("-", "");

export type Pebble = Awaited<ReturnType<typeof startPebble>>;

/**
 * Asks `httpPort` in place of port 80, at 127.0.0.1 for every name unless `lead` says another. Its directory, in which a
 * test may keep its own files, goes with it.
 */
export async function startPebble(
  { httpPort, validitySeconds = 86_400 }: { readonly httpPort: number; readonly validitySeconds?: number },
) {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-pebble-" });
  const [port, management, dns, dnsManagement] = [freePort(), freePort(), freePort(), freePort()];
  const authority = await makeAuthority(directory);
  const { certificateFile, keyFile } = await authority.issue("localhost", day(-1), day(2));
  const config = join(directory, "pebble.json");
  await Deno.writeTextFile(
    config,
    JSON.stringify({
      pebble: {
        listenAddress: `127.0.0.1:${port}`,
        managementListenAddress: `127.0.0.1:${management}`,
        certificate: certificateFile,
        privateKey: keyFile,
        httpPort,
        tlsPort: freePort(),
        certificateValidityPeriod: validitySeconds,
      },
    }),
  );
  const off = ["-http01", "", "-https01", "", "-tlsalpn01", "", "-defaultIPv6", ""];
  const names = new Deno.Command("pebble-challtestsrv", {
    args: ["-dns01", `127.0.0.1:${dns}`, "-management", `127.0.0.1:${dnsManagement}`, ...off],
    stdout: "null",
    stderr: "null",
  }).spawn();
  const spawnAuthority = (): Deno.ChildProcess =>
    new Deno.Command("pebble", {
      args: ["-config", config, "-dnsserver", `127.0.0.1:${dns}`, "-strict"],
      env: { PEBBLE_VA_NOSLEEP: "1", PEBBLE_AUTHZREUSE: "0", PEBBLE_WFE_NONCEREJECT: "20" },
      stdout: "null",
      stderr: "null",
    }).spawn();
  let pebble = spawnAuthority();
  const caCerts = [await Deno.readTextFile(authority.authorityFile)];
  const ask = async (path: string): Promise<string> => {
    using client = Deno.createHttpClient({ caCerts });
    return await (await fetch(`https://localhost:${management}${path}`, { client })).text();
  };
  const isUp = (): Promise<boolean> => ask("/roots/0").then((text) => text.includes("BEGIN"), () => false);
  const tell = async (path: string, body: object): Promise<void> => {
    const response = await fetch(`http://127.0.0.1:${dnsManagement}${path}`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    await response.body?.cancel();
  };
  const end = async (child: Deno.ChildProcess): Promise<void> => {
    child.kill("SIGKILL");
    await child.status;
  };
  await until("Pebble", isUp);
  return {
    directory,
    url: `https://localhost:${port}/dir`,
    authorityFile: authority.authorityFile,
    /** What signs its certificates; others after a restart. */
    root: () => ask("/roots/0"),
    /** Where a name leads; `null`: nowhere. */
    async lead(name: string, address: string | null) {
      await tell("/clear-a", { host: `${name}.` });
      if (address === null) await tell("/set-default-ipv4", { ip: "" });
      else await tell("/add-a", { host: `${name}.`, addresses: [address] });
    },
    stop: () => end(pebble),
    async restart() {
      pebble = spawnAuthority();
      await until("Pebble", isUp);
    },
    async close() {
      await Promise.all([end(names), end(pebble).catch(() => {})]);
      await Deno.remove(directory, { recursive: true });
    },
  };
}
