/** Files in the storage: what was acknowledged is there, whole, at every instance. */
import { Actor } from "./actors.ts";
import type { Fleet } from "./fleet.ts";

/** Writes and reads one file, until the fleet ends. */
export function runFileActor(fleet: Fleet, number: number, accessToken: string): Promise<void> {
  const actor = new Actor(fleet, `files ${number}`, number);
  const { random } = actor;
  const filename = `folder ${number}/file.txt`;
  /** What the file may hold: the last acknowledged text, and every later one whose fate is unknown. */
  let possible: (string | null)[] = [null];
  const givenUp: string[] = [];
  let version = 0;
  return actor.live(async () => {
    const content = `${version++} ${"x".repeat(random.chance(0.2) ? 120_000 : random.int(200))}`;
    const written = await actor.call(accessToken, "tools/call", {
      name: "file_write",
      arguments: { filename, content },
    });
    if (written?.result?.isError === false) {
      possible = [content, ...givenUp];
      actor.did("written");
    } else {
      possible.push(content);
      givenUp.push(content); // it may be written at any time, later ones notwithstanding
    }
    await actor.sleep(random.int(3_000));
    const read = await actor.call(accessToken, "tools/call", {
      name: "file_read",
      arguments: { filename, max_bytes: 1_048_576 },
    });
    if (read?.result === undefined) return;
    const found = read.result.structuredContent?.content;
    const isThere = read.result.isError === false;
    if (isThere && !possible.includes(found)) actor.violate(`a file holds ${String(found).slice(0, 40)}`);
    if (!isThere && !possible.includes(null) && read.result.content?.[0]?.text?.includes("not exist")) {
      actor.violate("an acknowledged file is not there");
    }
    if (isThere) possible = possible.filter((each) => each !== null);
    actor.did("read");
  });
}
