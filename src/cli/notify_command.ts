/** `notify test`: sends a notice to NOTIFY_URL. */
import { describeProblems } from "../app/mod.ts";
import { loadNotices } from "../app/later.ts";
import { commandOf } from "./action.ts";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";

/** Works with and without a running server. */
export const notifyCommand: CommandWork = commandOf({
  usage: ["notify test"],
  flags: {},
  actions: { test: { run: sendTest } },
});

async function sendTest({ loadConfig, say }: CommandContext): Promise<ExitStatus> {
  const config = loadConfig();
  if (!config.ok) return endWith(say, describeProblems(config.error), 2);
  const { sendTestNotice } = await loadNotices();
  const sent = await sendTestNotice(config.value);
  return sent.ok
    ? endWith(say, `sent to ${sent.value}\n`, 0)
    : endWith(say, `error: ${sent.error}\nhint: see NOTIFY_URL in docs/configuration.md\n`);
}
