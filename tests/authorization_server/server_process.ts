/**
 * A second process over a test's database: `deno run -A server_process.ts` with the settings as JSON in its one
 * argument. Prints its port. With `dieAt`, it kills itself by SIGKILL right before or after the n-th commit.
 */
import process from "node:process";
import { createAuthorizationServer } from "../../src/oauth/authorization_server.ts";
import { createSecretBox } from "../../src/lib/secrets.ts";
import type { Storage } from "../../src/storage/port.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import { mount, usualLifetimes } from "./harness.ts";

interface Settings {
  readonly databasePath: string;
  readonly masterKey: string;
  readonly issuer: string;
  readonly now: number;
  readonly ownerPasswordHash: string;
  readonly dieAt?: { readonly commit: number; readonly when: "before" | "after" };
}

const settings: Settings = JSON.parse(Deno.args[0] ?? "");
const clock = () => settings.now;

function dying(storage: Storage, { commit: fatal, when }: NonNullable<Settings["dieAt"]>): Storage {
  let count = 0;
  const die = (): void => Deno.kill(process.pid, "SIGKILL");
  return {
    ...storage,
    async commit(batch) {
      const isFatal = ++count === fatal;
      if (isFatal && when === "before") die();
      const committed = await storage.commit(batch);
      if (isFatal) die();
      return committed;
    },
  };
}

const opened = openSqliteStorage({ path: settings.databasePath, clock });
const storage = settings.dieAt === undefined ? opened : dying(opened, settings.dieAt);
const server = createAuthorizationServer({
  issuer: settings.issuer,
  resource: `${settings.issuer}/mcp`,
  resourceAliases: [],
  storage,
  secrets: createSecretBox(Uint8Array.fromHex(settings.masterKey)),
  clock,
  log: { write: () => {}, flush: () => {} },
  registration: { mode: "open" },
  ownerPasswordHash: settings.ownerPasswordHash,
  lifetimes: usualLifetimes,
});
const mounted = mount(server);
Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => process.stdout.write(`${port}\n`),
}, async (request) => {
  const endpoint = mounted[new URL(request.url).pathname];
  return await endpoint?.(request, { address: "127.0.0.1" }) ?? new Response(null, { status: 404 });
});
