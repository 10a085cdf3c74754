/** `users add|list|reset|disable|enable`: the people who may sign in, the owner included. */
import { type Action, administered, commandOf, type OpenInstallation, printTable } from "./action.ts";
import { type CommandContext, type CommandWork, endWith, type ExitStatus } from "./command.ts";
import { passphraseMissing, readPassphrase } from "./read_passphrase.ts";

/** Loaded when an action runs: see action.ts. */
const load = () => import("../oauth/mod.ts");
type Users = Awaited<ReturnType<typeof load>>;

const ended = "sessions, grants and tokens are ended";

/** Works beside a running server; what it ends is refused from the next request on. */
export const usersCommand: CommandWork = commandOf({
  usage: [
    "users list",
    "users add NAME",
    "users reset NAME",
    "users disable NAME",
    "users enable NAME",
    "users promote NAME",
    "users demote NAME",
  ],
  remarks: [
    "list      who may sign in, and who of them is disabled or an administrator",
    "add       a new person; asks for a passphrase, or reads it from standard input",
    "reset     a new passphrase; ends the person's sessions, grants and tokens",
    "disable   locks the person out and ends the same; enable lets them sign in again",
    "promote   makes an administrator of the console; demote takes that away",
  ],
  actions: {
    list: administered(load, list),
    add: withPassphrase(({ addUser }) => addUser, "may sign in now", true),
    reset: withPassphrase(({ resetUser }) => resetUser, `has a new passphrase; ${ended}`, false),
    disable: change(({ disableUser }) => disableUser, `is locked out; ${ended}`),
    enable: change(({ enableUser }) => enableUser, "may sign in again"),
    promote: change(administrator(true), "is an administrator of the console now"),
    demote: change(administrator(false), "is not an administrator any more"),
  },
});

type Outcome = Awaited<ReturnType<Users["disableUser"]>>;

async function list(users: Users, installation: OpenInstallation, context: CommandContext): Promise<ExitStatus> {
  const all = await users.listUsers(installation);
  return await printTable({
    columns: ["NAME", "STATE"],
    rows: all.map((user) => [user.id, stateOf(user)]),
    whenEmpty: "there are no users; the set-up link, which the server prints, makes the owner",
  }, context);
}

function stateOf({ disabled, administrator, company }: Awaited<ReturnType<Users["listUsers"]>>[number]): string {
  const states = { disabled, administrator, "company account": company };
  return Object.entries(states).flatMap(([state, is]) => is ? state : []).join(", ");
}

function administrator(is: boolean): (users: Users) => Users["disableUser"] {
  return ({ setAdministrator }) => (installation, name) => setAdministrator(installation, { name, administrator: is });
}

function withPassphrase(pick: (users: Users) => Users["addUser"], done: string, isNew: boolean): Action {
  return administered(load, async (users, installation, { say, words: [name = ""] }) => {
    const unfit = await (isNew ? users.newUserProblem : users.existingUserProblem)(installation, name);
    if (unfit !== null) return endWith(say, `error: ${unfit.message}\n`);
    const passphrase = await readPassphrase(say);
    if (!passphrase.ok) return endWith(say, passphraseMissing(passphrase.error));
    return report(await pick(users)(installation, { name, passphrase: passphrase.value }), name, done, say);
  });
}

function change(pick: (users: Users) => Users["disableUser"], done: string): Action {
  return administered(
    load,
    async (users, installation, { say, words: [name = ""] }) =>
      report(await pick(users)(installation, name), name, done, say),
  );
}

function report(outcome: Outcome, name: string, done: string, say: (text: string) => void): ExitStatus {
  say(outcome.ok ? `${name} ${done}\n` : `error: ${outcome.error.message}\n`);
  return outcome.ok ? 0 : 1;
}
