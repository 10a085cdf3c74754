/** `deno task dev`, stopped as people stop it: nothing of it stays. */
import { fileURLToPath } from "node:url";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { freePort } from "../fixtures/free_port.ts";
import { makeServerPlace } from "../fixtures/running_server.ts";
import { needsPrograms, onLinux, skippedUnless } from "../fixtures/skipped_unless.ts";
import { until } from "../fixtures/until.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The processes of the session that `leader` began, which has the same number. */
async function processesOf(leader: number): Promise<readonly number[]> {
  const { stdout } = await new Deno.Command("ps", { args: ["-o", "pid=", "-s", String(leader)] }).output();
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line.trim() !== "").map(Number);
}

const ways: Readonly<Record<string, (leader: number, watcher: number) => void>> = {
  "Ctrl-C": (leader) => Deno.kill(-leader, "SIGINT"),
  "SIGTERM to the task": (leader) => Deno.kill(leader, "SIGTERM"),
  "SIGTERM to the watcher": (_, watcher) => Deno.kill(watcher, "SIGTERM"),
};

for (const [way, stop] of Object.entries(ways)) {
  const name = `\`deno task dev\` ends with ${way}, and leaves no process and no port taken`;
  needing("one process").test({
    ...(onLinux[0] ? needsPrograms(["ps", "setsid"], name) : skippedUnless(...onLinux, name)),
    fn: async () => {
      await using place = await makeServerPlace();
      const port = freePort();
      const task = new Deno.Command("setsid", {
        args: [Deno.execPath(), "task", "dev"],
        cwd: root,
        env: { DATA_DIR: place.dataDir, WORKSPACE_DIR: place.workspaceDir, PORT: String(port) },
        stdout: "null",
        stderr: "null",
      }).spawn();
      try {
        const isUp = () => fetch(`http://127.0.0.1:${port}/health/live`).then((it) => it.text(), () => null);
        await until("an answer", isUp);
        const [watcher = 0] = (await processesOf(task.pid)).filter((pid) => pid !== task.pid);
        stop(task.pid, watcher);
        await until("the end", async () => (await processesOf(task.pid)).length === 0);
        Deno.listen({ hostname: "127.0.0.1", port }).close();
      } finally {
        for (const pid of await processesOf(task.pid)) Deno.kill(pid, "SIGKILL");
        await task.status;
      }
    },
  });
}
