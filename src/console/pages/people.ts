/** People: who may sign in; inviting, disabling, resetting, and naming administrators. */
import { type Administration, ownerId, type UserChange } from "../../oauth/mod.ts";
import { type Html, html } from "../../lib/page.ts";
import { failure, success } from "../../lib/result.ts";
import { actButton, actFields } from "./frame.ts";
import { ago, dataTable, pageOf, textField } from "./section.ts";
import type { Act, ConsoleSources, Section, Visit } from "./section.ts";

type User = Awaited<ReturnType<Administration["users"]>>[number];

/** Rows of one page, by name. */
const peopleShown = 100;

const named = (form: URLSearchParams): string => form.get("user") ?? "";

/** Who may sign in. Only the owner names administrators, and the owner is changed elsewhere. */
export function peopleSection({ administration, visits }: Pick<ConsoleSources, "administration" | "visits">): Section {
  const { signInIsElsewhere } = visits; // people come from another system: none is invited here
  const changing = (change: UserChange, words: string, done: string): Act => ({
    confirm: (form) => `${words} ${named(form)}`,
    async run({ form, by }) {
      const name = named(form);
      if (name === ownerId || name === by.userId) return failure("That cannot be done to yourself, or to the owner.");
      const isOwners = change === "promote" || change === "demote";
      if (isOwners && by.userId !== ownerId) return failure("Only the owner names administrators.");
      const changed = await administration.change(name, change, by);
      return changed.ok ? success(done) : failure(changed.error.message);
    },
  });
  const inviting = (kind: "new" | "reset"): Act => ({
    confirm: (form) => kind === "new" ? `invite ${named(form)}` : `reset the passphrase of ${named(form)}`,
    async run({ form, by, href }) {
      const userId = named(form).trim().toLowerCase();
      if (kind === "reset" && userId === ownerId) {
        return failure("The owner's passphrase is reset with `portcullis users reset owner`.");
      }
      const link = await administration.invite({ userId, kind }, by);
      if (!link.ok) return failure(link.error.message);
      return html`
        <p>Give this link to <strong>${userId}</strong>. It is shown once, works once, and ends in three days.
          The holder chooses the passphrase.</p>
        <pre>${link.value}</pre>
        <p><a href="${href("people")}">Back to People</a></p>
      `;
    },
  });
  return {
    name: "people",
    title: "People",
    place: "settings",
    forAdministrators: true,
    async show(visit) {
      const { shown, next } = pageOf(await administration.users(), visit, {
        ...{ section: "people", name: "after", words: "Further people", size: peopleShown },
        cursorOf: ({ id }) => id,
      });
      const rows = shown.map((user) => [
        html`<a href="${visit.href("connections", { person: user.id })}">${user.displayName ?? user.id}</a>
          ${companyLine(user)}`,
        stateOf(user),
        ago(user.createdAt, visit.now),
        actionsFor(user, visit, signInIsElsewhere),
      ]);
      return html`
        ${dataTable("People who may sign in", ["Person", "State", "Since", "Actions"], rows, "No one yet.")}
        ${next}
        ${!signInIsElsewhere && inviteForm(visit)}
        ${!signInIsElsewhere && pendingTable(await administration.invitations(), visit)}
      `;
    },
    acts: {
      invite: inviting("new"),
      reset: inviting("reset"),
      withdraw: {
        async run({ form, by }) {
          const isWithdrawn = await administration.withdraw(form.get("invitation") ?? "", by);
          return isWithdrawn
            ? success("The link was withdrawn.")
            : failure("This link was used or withdrawn already, or has expired.");
        },
      },
      disable: changing(
        "disable",
        "disable",
        "They are locked out. Their sessions, connections and tokens have ended.",
      ),
      enable: changing("enable", "enable", "They may sign in again."),
      promote: changing("promote", "make an administrator of", "They are an administrator now."),
      demote: changing("demote", "end the administrator's rights of", "They are not an administrator any more."),
    },
  };
}

/** Where someone comes from, and what their groups there let them allow. */
function companyLine({ id, linked, rights: { scopes } }: User): Html | null {
  if (linked === null) return null;
  const groups = linked.groups.length === 0 ? "" : `, in ${linked.groups.join(", ")}`;
  const limit = scopes === null || id === ownerId ? "" : `; may allow ${[...scopes].join(", ") || "nothing"}`;
  return html`<br><span class="quiet">Company account${groups}${limit}. <code>${id}</code></span>`;
}

function stateOf({ id, disabled, administrator, rights }: User): Html {
  if (disabled) return html`<span class="badge bad">Disabled</span>`;
  if (id === ownerId) return html`<span class="badge good">Owner</span>`;
  return administrator || rights.administrator
    ? html`<span class="badge good">Administrator</span>`
    : html`<span class="badge">Person</span>`;
}

function actionsFor({ id, disabled, administrator, linked, rights }: User, visit: Visit, signInIsElsewhere: boolean) {
  if (id === ownerId || id === visit.visitor.userId) {
    return html`<span class="quiet">Change this from the command line</span>`;
  }
  const button = (act: string, label: string): Html =>
    actButton(visit, "people", act, label, { values: { user: id }, kind: "plain", about: id });
  const naming = administrator ? button("demote", "End administrator") : button("promote", "Make administrator");
  return html`<div class="row">
    ${disabled ? button("enable", "Enable") : button("disable", "Disable")}
    ${!signInIsElsewhere && !disabled && linked === null && button("reset", "Reset passphrase")}
    ${visit.visitor.userId === ownerId && !disabled && !rights.administrator && naming}
  </div>`;
}

const maxNameCharacters = 32;

function inviteForm(visit: Visit): Html {
  const typed = visit.query.get("act") === "invite" ? visit.query.get("user") ?? "" : "";
  return html`
    <h2>Invite a person</h2>
    <p class="quiet">They choose their own passphrase.</p>
    <form method="post" action="${visit.href("people")}" class="row">
      ${actFields(visit.visitor, "invite")}
      ${textField("user", "User name", typed, maxNameCharacters, true)}
      <button type="submit" class="small">Create invite link</button>
    </form>
  `;
}

function pendingTable(pending: Awaited<ReturnType<Administration["invitations"]>>, visit: Visit): Html | null {
  if (pending.length === 0) return null;
  const rows = pending.map(({ id, userId, kind, by, expiresAt }) => {
    const options = { values: { invitation: id }, kind: "plain", about: `the link of ${userId}` } as const;
    return [
      ...[userId, kind === "new" ? "A new account" : "A new passphrase", by, ago(expiresAt, visit.now)],
      actButton(visit, "people", "withdraw", "Withdraw", options),
    ];
  });
  const columns = ["Person", "For", "From", "Expires", "Actions"];
  return html`<h2>Pending invitations</h2>${dataTable("Links that have not been used", columns, rows)}`;
}
