/** A stand-in instance, a database, and this server's side of both, for one test. */
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import type { Storage } from "../../src/storage/port.ts";
import { createSecretBox, type SecretBox } from "../../src/lib/secrets.ts";
import type { LogFields } from "../../src/lib/log.ts";
import type { Caller } from "../../src/servicenow/transport.ts";
import { createServicenow, type Servicenow, type ServicenowOptions } from "../../src/servicenow/servicenow.ts";
import { createRecordReader } from "../../src/servicenow/servicenow_offer.ts";
import { type StandInInstance, type StandInOptions, startServicenow } from "../fixtures/servicenow/instance.ts";

/** An instance as this server reaches it, with what resources read there. */
type Reached = ReturnType<typeof withReader>;

const withReader = (servicenow: Servicenow) => ({ ...servicenow, reader: createRecordReader(servicenow) });

/** Where a test has everything it needs. */
export interface Place extends AsyncDisposable {
  readonly instance: StandInInstance;
  readonly servicenow: Reached;
  readonly storage: Storage;
  readonly secrets: SecretBox;
  readonly databasePath: string;
  readonly logLines: { readonly event: string; readonly fields: LogFields }[];
  readonly now: () => number;
  readonly advance: (seconds: number) => void;
  /** Another server instance on the same database. */
  readonly another: (overrides?: Partial<ServicenowOptions>) => Reached;
  /** Links `subject` to an account by going through the instance's pages. */
  readonly link: (subject: string, userName: string) => Promise<void>;
}

export const linkUrl = "https://mcp.example.com/servicenow/link";
export const redirectUri = "https://mcp.example.com/servicenow/callback";
export const browser = "b".repeat(43);

/** Times that no busy machine exceeds, and short pauses between attempts. */
export const patientTimes = { requestMs: 60_000, callMs: 120_000, retryDelayMs: 10, lockMs: 90_000 };

/** Opens one; `options` say what the instance holds and how it is set up. */
export async function openPlace(options: Pick<StandInOptions, "data" | "habits" | "people"> = {}): Promise<Place> {
  let now = 1_780_000_000_000;
  const clock = () => now;
  const instance = await startServicenow({ ...options, redirectUri, clock });
  const directory = await Deno.makeTempDir({ prefix: "portcullis-servicenow-" });
  const databasePath = `${directory}/portcullis.db`;
  const logLines: Place["logLines"][number][] = [];
  const secrets = createSecretBox(new Uint8Array(32).fill(7));
  const openings: Storage[] = [];
  const open = (): Storage => {
    const storage = openSqliteStorage({ path: databasePath, clock });
    openings.push(storage);
    return storage;
  };
  const closers: (() => void)[] = [];
  const another = (overrides: Partial<ServicenowOptions> = {}) => {
    const servicenow = createServicenow({
      instance: instance.origin,
      client: instance.client,
      linkUrl,
      storage: overrides.storage ?? open(),
      secrets,
      fetch,
      clock,
      elapsed: clock,
      random: () => 0.5,
      log: { write: (_level, event, fields = {}) => void logLines.push({ event, fields }), flush: () => {} },
      times: patientTimes,
      admit: () => ({ ok: true }),
      ...overrides,
    });
    closers.push(() => servicenow.close());
    return withReader(servicenow);
  };
  const storage = open();
  const servicenow = another({ storage });
  return {
    instance,
    servicenow,
    storage,
    secrets,
    databasePath,
    logLines,
    now: clock,
    advance: (seconds) => void (now += seconds * 1_000),
    another,
    async link(subject, userName) {
      const { url } = await servicenow.signIn.begin({ browser, purpose: { kind: "link", subject } });
      const callback = new URL(await instance.approve(url, userName));
      const finished = await servicenow.signIn.finish({
        parameters: callback.searchParams,
        browsers: [browser],
        subject,
        signal: callerOf(subject).signal,
      });
      if (!finished.ok) throw new Error(`Linking failed: ${finished.error.reason}`);
      instance.requests.length = 0;
    },
    async [Symbol.asyncDispose]() {
      await instance[Symbol.asyncDispose]();
      for (const close of closers) close();
      for (const each of openings) await each.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** A caller who does not give up. */
export function callerOf(subject: string): Caller {
  return { subject, signal: new AbortController().signal };
}
