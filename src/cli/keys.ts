/** `keys rotate`: a new signing key, while tokens under the old one live out their time. */
import { type Action, runAction } from "./action.ts";
import type { Command } from "./command.ts";

/** Works beside a running server. */
export const keysCommand: Command = {
  name: "keys",
  summary: "changes the key that signs access tokens",
  usage: ["keys rotate"],
  flags: {},
  run: (context) => runAction(keysCommand, actions, context),
};

const actions: readonly Action[] = [{
  name: "rotate",
  words: 0,
  async run(administration, { loadConfig, say }) {
    const config = loadConfig();
    if (!config.ok) return 2;
    const { accessTokenLifetimeSeconds } = config.value;
    const kid = await administration.rotateKeys(accessTokenLifetimeSeconds);
    say(`key ${kid} signs from now on; the one before verifies for ${accessTokenLifetimeSeconds} s more\n`);
    return 0;
  },
}];
