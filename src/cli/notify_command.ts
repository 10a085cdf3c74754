/** `notify test`: sends a notice to NOTIFY_URL. */
import type { Config } from "../app/mod.ts";
import { loadNotices } from "../app/later.ts";
import { commandOf, withConfig } from "./action.ts";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";

/** Works with and without a running server. */
export const notifyCommand: CommandWork = commandOf({
  usage: ["notify test"],
  actions: { test: { run: withConfig(sendTest) } },
});

async function sendTest(config: Config, { say }: CommandContext): Promise<ExitStatus> {
  const { sendTestNotice } = await loadNotices();
  const sent = await sendTestNotice(config);
  return sent.ok
    ? endWith(say, `sent to ${sent.value}\n`, 0)
    : endWith(say, `error: ${sent.error}\nhint: see NOTIFY_URL in docs/configuration.md\n`);
}
