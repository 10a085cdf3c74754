/**
 * `deno run -A scripts/gate/measure.ts [FILE...]`: runs each test file alone and prints its seconds of wall and processor
 * time (its servers' included) and what it left in the temporary directory, for scripts/gate/known_files.ts. Linux.
 */
import { join } from "node:path";
import process from "node:process";
import { testFiles } from "./test_groups.ts";

for (const file of Deno.args.length > 0 ? Deno.args : testFiles()) {
  const temporary = await Deno.makeTempDir({ prefix: "measured-" });
  try {
    const { stdout, stderr } = await new Deno.Command("bash", {
      args: [
        "-c",
        'TIMEFORMAT="%R %U %S"; time "$@" 2>/dev/null',
        "bash",
        Deno.execPath(),
        ...["test", "--config", "deno.dev.json", "--allow-all", "--no-check", file],
      ],
      env: { NO_COLOR: "1", TMPDIR: temporary },
      stdin: "null",
    }).output();
    const [wall = 0, user = 0, system = 0] = new TextDecoder().decode(stderr).trim().split(" ").map(Number);
    const summary = /^(?:ok|FAILED) \| .*$/m.exec(new TextDecoder().decode(stdout))?.[0] ?? "broke off";
    const left = Array.from(Deno.readDirSync(temporary), ({ name }) => join(temporary, name));
    const seconds = `${wall.toFixed(1)} s, ${(user + system).toFixed(1)} s of processor time`;
    process.stdout.write(`${file}: ${seconds}, ${summary}${left.length > 0 ? `, LEFT ${left.join(" ")}` : ""}\n`);
  } finally {
    await Deno.remove(temporary, { recursive: true });
  }
}
