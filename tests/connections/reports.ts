/** What is stored of the attempts at a server, with their diagnosis. */
import { readClientName } from "../../src/app/protocol_server.ts";
import { reportAttempts } from "../../src/console/connections/report.ts";
import { readStoredSteps } from "../../src/console/connections/step.ts";
import { openSqliteStorage } from "../../src/storage/sqlite_storage.ts";
import type { ServerPlace } from "../fixtures/running_server.ts";
import { until } from "../fixtures/until.ts";

/** From the storage alone, beside a running server or without one. */
export async function storedAttempts({ dataDir }: Pick<ServerPlace, "dataDir">, now = Date.now()) {
  const storage = openSqliteStorage({ path: `${dataDir}/portcullis.db`, clock: () => now });
  try {
    const steps = await readStoredSteps(storage, now);
    return await reportAttempts(steps, { now, nameOfClient: (id) => readClientName(storage, id) });
  } finally {
    await storage.close();
  }
}

/** The attempts, once all have stopped for long enough to be judged. */
export async function judgedAttempts(place: ServerPlace) {
  return await until("all attempts have stopped", async () => {
    const found = (await storedAttempts(place)).map(({ diagnosis, ...attempt }) => ({ ...attempt, ...diagnosis }));
    return found.length > 0 && !found.some(({ state }) => state === "going_on") && found;
  }, 500);
}

export type JudgedAttempt = Awaited<ReturnType<typeof judgedAttempts>>[number];
