/** `keys rotate|list`: replaces signing keys, lists them. */
import { administered, commandOf, type OpenInstallation, printTable } from "./action.ts";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";

/** Loaded when an action runs: see action.ts. */
const load = () => import("../oauth/mod.ts");
type Keys = Awaited<ReturnType<typeof load>>;

/** Works beside a running server. */
export const keysCommand: CommandWork = commandOf({
  usage: ["keys rotate [--now]", "keys list"],
  switches: { now: "for a key that may have leaked: the new one signs at once, and every access token ends" },
  actions: { rotate: administered(load, rotate, ["now"]), list: administered(load, list) },
});

async function rotate(keys: Keys, installation: OpenInstallation, { flags, say }: CommandContext) {
  if (flags["now"] !== undefined) {
    const { kid, withdrawn } = await keys.replaceSigningKeys(installation);
    say(
      `key ${kid} signs from now on; ${withdrawn.length} withdrawn, and with them every access token: clients refresh\n` +
        "other resource servers may accept the withdrawn keys for up to 5 minutes, while they cache the key set\n",
    );
    return 0;
  }
  const rotation = await keys.rotateSigningKeys(installation, {
    overlapSeconds: installation.config.authorizationServer.accessTokenLifetimeSeconds,
  });
  if (rotation.kind === "under_way") {
    return endWith(
      say,
      `error: a rotation is under way: key ${rotation.kid} signs from ${timeOf(rotation.signsFrom)}\n` +
        "hint: nothing was changed; `portcullis keys rotate --now` is for a key that may have leaked\n",
    );
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

async function list(keys: Keys, installation: OpenInstallation, context: CommandContext): Promise<ExitStatus> {
  const all = await keys.listSigningKeys(installation);
  return await printTable({
    columns: ["KEY", "STATE", "MADE", "CHANGES"],
    rows: all.map(({ kid, state, createdAt, changesAt }) => [
      kid,
      state,
      timeOf(createdAt),
      changesAt === null ? "" : `${state === "active" ? "until" : "signs from"} ${timeOf(changesAt)}`,
    ]),
    whenEmpty: "there are no signing keys yet; the first client that signs in makes the server make one",
  }, context);
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
