/** `keys rotate|list|rotate-master`: a new signing key while tokens under the old one live on; a new master key. */
import type { Administration } from "../administration.ts";
import { describeProblems } from "../config/describe_problems.ts";
import { systemClock } from "../lib/clock.ts";
import { type Action, runAction } from "./action.ts";
import type { Command, CommandContext, ExitStatus } from "./command.ts";
import { installationProblem } from "./installation_problem.ts";

/** Works beside a running server. */
export const keysCommand: Command = {
  name: "keys",
  summary: "changes the key that signs access tokens, lists such keys, changes the master key",
  usage: ["keys rotate [--now]", "keys list", "keys rotate-master   while no server runs"],
  flags: {},
  switches: { now: "for a key that somebody else may have: signs at once, and every access token ends" },
  run: (context) =>
    context.words.length === 1 && context.words[0] === "rotate-master"
      ? rotateMaster(context)
      : runAction(keysCommand, actions, context),
};

const actions: readonly Action[] = [
  { name: "rotate", words: 0, run: rotate },
  { name: "list", words: 0, run: list },
];

async function rotate(
  administration: Administration,
  { loadConfig, flags, say }: CommandContext,
): Promise<ExitStatus> {
  if (flags["now"] !== undefined) {
    const { kid, withdrawn } = await administration.replaceKeys();
    say(
      `key ${kid} signs from now on; ${withdrawn.length} withdrawn, and with them every access token: clients refresh\n` +
        "whoever else verifies tokens may accept the withdrawn keys for 5 minutes, as long as the key set may be kept\n",
    );
    return 0;
  }
  const config = loadConfig();
  if (!config.ok) return 2;
  const rotation = await administration.rotateKeys({
    leadSeconds: config.value.signingKeyLeadSeconds,
    overlapSeconds: config.value.accessTokenLifetimeSeconds,
  });
  if (rotation.kind === "under_way") {
    say(
      `error: a rotation is under way: key ${rotation.kid} signs from ${timeOf(rotation.signsFrom)}\n` +
        "hint: nothing was changed; `keys rotate --now` is for a key that somebody else may have\n",
    );
    return 1;
  }
  const { kid, signsFrom, previousUntil } = rotation;
  say(
    previousUntil === null
      ? `key ${kid} is the first, and signs\n`
      : `key ${kid} is published and signs from ${timeOf(signsFrom)}; the one before verifies until ${
        timeOf(previousUntil)
      }\n`,
  );
  return 0;
}

async function list(administration: Administration, { print }: CommandContext): Promise<ExitStatus> {
  for (const { kid, state, createdAt, changesAt } of await administration.listKeys()) {
    const change = changesAt === null ? "" : `  ${state === "active" ? "until" : "signs from"} ${timeOf(changesAt)}`;
    print(`${kid}  ${state}  ${timeOf(createdAt)}${change}\n`);
  }
  return 0;
}

/** Not an action: an installation that is in the middle of this opens for nothing else. */
async function rotateMaster({ loadConfig, say }: CommandContext): Promise<ExitStatus> {
  const config = loadConfig();
  if (!config.ok) {
    say(describeProblems(config.error));
    return 2;
  }
  const { rotateMasterKey } = await import("../rotate_master_key.ts"); // see action.ts
  const rotated = await rotateMasterKey(config.value, systemClock);
  if (!rotated.ok) {
    say(installationProblem(rotated.error));
    return 1;
  }
  const { signingKeys, links } = rotated.value;
  say(
    `master.key is new; sealed anew: ${signingKeys} signing keys, ${links} linked accounts\n` +
      "clients stay signed in; backups from before open under the key that is in them; other instances need this one\n",
  );
  return 0;
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
