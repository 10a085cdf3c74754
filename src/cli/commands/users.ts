/** `users add|list|reset|disable|enable|sign-in-link`: the people beside the owner, and the owner's own passphrase. */
import type { Administration } from "../../composition/administration.ts";
import { type Action, administered, runAction } from "../action.ts";
import type { Command, CommandContext, ExitStatus } from "../command.ts";
import { serverUrlFor } from "../../composition/server_url.ts";
import { passphraseMissing, readPassphrase } from "../read_passphrase.ts";
import { printTable } from "../table.ts";

/** Works while the server runs; what it ends, ends with the next request. */
export const usersCommand: Command = {
  name: "users",
  summary: "add, list and lock out the people who may sign in",
  usage: [
    "users list",
    "users add NAME",
    "users reset NAME",
    "users disable NAME",
    "users enable NAME",
    "users sign-in-link NAME",
  ],
  words: ["list", "add", "reset", "disable", "enable", "sign-in-link"],
  flags: {},
  run: (context) => runAction(usersCommand, actions, context),
};

type Outcome = Awaited<ReturnType<Administration["disableUser"]>>;

const actions: readonly Action[] = [
  { name: "list", words: [], run: administered(list) },
  {
    name: "add",
    words: ["NAME"],
    run: withPassphrase((administration) => administration.addUser, "may sign in now", true),
  },
  {
    name: "reset",
    words: ["NAME"],
    run: withPassphrase(
      (administration) => administration.resetUser,
      "has a new passphrase; sessions, grants and tokens are ended",
      false,
    ),
  },
  {
    name: "disable",
    words: ["NAME"],
    run: change((administration) => administration.disableUser, "is locked out; sessions, grants and tokens are ended"),
  },
  { name: "enable", words: ["NAME"], run: change((administration) => administration.enableUser, "may sign in again") },
  { name: "sign-in-link", words: ["NAME"], run: administered(printSignInLink) },
];

/** For a person whom guessing elsewhere keeps out of a browser that is new here. */
async function printSignInLink(
  administration: Administration,
  { loadConfig, print, say }: CommandContext,
  [name = ""]: readonly string[],
): Promise<ExitStatus> {
  const config = loadConfig();
  const code = await administration.createSignInCode(name);
  if (!config.ok || !code.ok) {
    say(code.ok ? "" : `error: ${code.error.message}\n`);
    return 1;
  }
  say("opens once, within 10 minutes; the passphrase is asked all the same\n");
  print(`${serverUrlFor(config.value, config.value.port)}/oauth/sign-in?link=${code.value}\n`);
  return 0;
}

async function list(administration: Administration, context: CommandContext): Promise<ExitStatus> {
  const users = await administration.listUsers();
  await printTable({
    columns: ["NAME", "STATE"],
    rows: users.map(({ id, disabled }) => [id, disabled ? "disabled" : ""]),
    whenEmpty: "there are no users; the set-up link, which the server prints, makes the owner",
  }, context);
  return 0;
}

function withPassphrase(
  pick: (administration: Administration) => (name: string, passphrase: string) => Promise<Outcome>,
  done: string,
  isNew: boolean,
): Action["run"] {
  return administered(async (administration, { say }, [name = ""]) => {
    const unfit = await administration.userProblem(name, { isNew });
    if (unfit !== null) {
      say(`error: ${unfit.message}\n`);
      return 1;
    }
    const passphrase = await readPassphrase(say);
    if (!passphrase.ok) {
      say(passphraseMissing(passphrase.error));
      return 1;
    }
    return report(await pick(administration)(name, passphrase.value), name, done, say);
  });
}

function change(
  pick: (administration: Administration) => (name: string) => Promise<Outcome>,
  done: string,
): Action["run"] {
  return administered(async (administration, { say }, [name = ""]) =>
    report(await pick(administration)(name), name, done, say)
  );
}

function report(outcome: Outcome, name: string, done: string, say: (text: string) => void): ExitStatus {
  say(outcome.ok ? `${name} ${done}\n` : `error: ${outcome.error.message}\n`);
  return outcome.ok ? 0 : 1;
}
