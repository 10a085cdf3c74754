/** One change of files, reached from its line in the audit: what it did, and a button that undoes it. */
import type { Result } from "../../lib/result.ts";
import { html } from "../../lib/page.ts";
import { differenceBlock, moment } from "./words.ts";
import { actFields } from "./frame.ts";
import type { Section, Visit } from "./section.ts";

/** A change as the page shows it. */
interface ShownChange {
  readonly tool: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** What it did, with differences. */
  readonly text: string;
  readonly isUndone: boolean;
  /** Why it cannot be undone now; `null` when it can. */
  readonly whyNot: string | null;
}

/** The changes of everyone's files. */
export interface Changes {
  /** `null` when there is no such change of this person, or it is no longer kept. */
  show(id: string, person: string): Promise<ShownChange | null>;
  /** Undoes it in the name of `by`; what became of it, in words. */
  undo(
    id: string,
    person: string,
    by: { readonly userId: string; readonly address: string },
  ): Promise<Result<string, string>>;
}

export function changeSection(changes: Changes): Section {
  /** Everyone but administrators sees their own. */
  const personOf = ({ visitor, query }: Pick<Visit, "visitor" | "query">): string =>
    visitor.isAdministrator ? query.get("person") ?? visitor.userId : visitor.userId;
  return {
    name: "change",
    title: "Change",
    unlisted: true,
    async show(visit) {
      const id = visit.query.get("id") ?? "";
      const person = personOf(visit);
      const change = await changes.show(id, person);
      const back = html`<p><a href="${visit.href("audit")}">Back to the audit</a></p>`;
      if (change === null) return html`<p>This change is not kept any more, or does not exist.</p>${back}`;
      return html`
        <p><strong>${change.tool}</strong>, for ${person}, on ${moment(change.at)}.</p>
        ${differenceBlock(change.text, "What it changed")}
        ${change.isUndone
          ? html`<p class="quiet">It was undone.</p>`
          : change.whyNot !== null
          ? html`<p class="quiet">${change.whyNot}</p>`
          : html`
            <form method="post" action="${visit.href("change")}">${actFields(visit.visitor, "undo", { id, person })}
              <button type="submit" class="small">Undo this change</button></form>
          `}
        ${back}
      `;
    },
    acts: {
      undo: {
        done: "The change was undone.",
        async run({ visitor, address, form, href }) {
          const person = visitor.isAdministrator ? form.get("person") ?? "" : visitor.userId;
          const undone = await changes.undo(form.get("id") ?? "", person, { ...visitor, address });
          if (!undone.ok) return { problem: undone.error };
          return html`
            <p class="note good" role="status">${undone.value}</p>
            <p><a href="${href("audit")}">Back to the audit</a></p>
          `;
        },
      },
    },
  };
}
