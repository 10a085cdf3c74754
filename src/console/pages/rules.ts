/** Rules: what is allowed, what waits and what is refused, in words; tried on the last day's calls before they hold. */
import { counted, failure, success } from "../../lib/result.ts";
import { decidingRule, everyChange, maxRules, maxRuleTextCharacters, meaningOf, ruleWords } from "../approvals/rule.ts";
import type { JudgedCall, Rule, Verdict } from "../approvals/rule.ts";
import { type Html, html } from "../../lib/page.ts";
import { randomId } from "../../lib/secrets.ts";
import { type DayOfCalls, lastDay } from "./day_of_calls.ts";
import { actButton, actFields } from "./frame.ts";
import { choiceField, textField, timeOfDay } from "./section.ts";
import type { ActVisit, ConsoleSources, Section, Visit } from "./section.ts";

/** What clients with access are called, by id. */
type NamesOfClients = ReadonlyMap<string, string>;

const verdictNames = { ask: "Ask for approval", deny: "Refuse", allow: "Allow" } as const;
const verdicts = Object.keys(verdictNames) as readonly Verdict[];
const caughtWords: Readonly<Record<Verdict, string>> = { ask: "held", deny: "refused", allow: "allowed" };

/** The rules in words, a form for a new one, and its trial on calls of the last day. */
export function rulesSection(
  { rules, administration, ...sources }: ConsoleSources,
  day: DayOfCalls,
): Section {
  const tools = sources.tools.map(({ name }) => name);
  const clients = async (): Promise<NamesOfClients> => {
    const { grants } = await administration.access(null);
    return new Map(grants.map(({ clientId, clientName }) => [clientId, clientName]));
  };
  const confirm = "change the rules";
  const add = async (rule: Rule, by: ActVisit["by"]) => {
    let stands = false;
    const isAdded = await rules.change((all) => {
      stands = all.some((each) => meaningOf(each) === meaningOf(rule));
      return stands ? null : [rule, ...all];
    }, by);
    if (stands) return success("This rule stands already. Nothing was changed.");
    if (!isAdded) return failure(`There are ${maxRules} rules already. Remove one first.`);
    return success(`The rule was added. ${ruleWords(rule)}`);
  };
  return {
    name: "rules",
    title: "Rules",
    place: "settings",
    forAdministrators: true,
    async show(visit) {
      await rules.load();
      const now = rules.current.filter(({ until }) => until === undefined || until > visit.now);
      const [known, users] = await Promise.all([clients(), administration.users()]);
      return html`
        <p class="quiet">Refuse comes before Ask, Ask before Allow. Calls that match no rule are allowed.</p>
        ${now.length === 0 ? html`<p class="quiet">There are no rules: every call is allowed.</p>` : html`
          <ul class="rules">${now.map((rule) => ruleItem(rule, visit))}</ul>
        `}
        ${!now.some(({ tool, verdict }) => tool === everyChange && verdict === "ask") &&
          actButton(visit, "rules", "guard", "Ask before anything is changed")}
        <details id="add" ${visit.query.has("verdict") && html`open`}>
          <summary>Add a rule</summary>
          ${ruleForm(visit, [...known], users.map(({ id }) => [id, id]), tools.map((name) => [name, name]))}
        </details>
      `;
    },
    acts: {
      guard: { confirm, run: ({ by }) => add({ id: randomId(), tool: everyChange, verdict: "ask" }, by) },
      remove: {
        confirm,
        async run({ form, by }) {
          const isRemoved = await rules.change((all) => without(all, form.get("rule")), by);
          return isRemoved ? success("The rule was removed.") : failure("This rule is no longer there.");
        },
      },
      add: {
        confirm,
        async run(visit) {
          const { form, by, now, href } = visit;
          const [known, users] = await Promise.all([clients(), administration.users()]);
          const rule = ruleFrom(form, known, {
            verdict: { offered: verdicts, problem: "Choose what happens: ask for approval, refuse or allow." },
            tool: { offered: ["", everyChange, ...tools], problem: "This server has no such tool." },
            person: { offered: ["", ...users.map(({ id }) => id)], problem: "There is no such person any more." },
            client: { offered: ["", ...known.keys()], problem: "This client has no access any more." },
            approver: { offered: ["", "administrator"], problem: "Choose who approves." },
          });
          if (typeof rule === "string") return failure(rule);
          if (form.get("trial") !== null) {
            const [calls, since] = [await day.today(), await day.since()];
            const changed = calls.filter((call) =>
              verdictOf([...rules.current, rule], call, now) !== verdictOf(rules.current, call, now)
            );
            const fields = [...form].filter(([name]) => !["csrf", "act", "trial", "passphrase"].includes(name));
            return html`
              <p>${ruleWords(rule)}</p>
              <p>Beside the other rules, it would have ${caughtWords[rule.verdict]} <strong>${changed.length}</strong>
                of ${counted(calls.length, "call")} ${since ?? lastDay}.</p>
              ${actButton(visit, "rules", "add", "Add this rule", { values: Object.fromEntries(fields) })}
              <p><a href="${href("rules")}">Back to the rules</a></p>
            `;
          }
          return await add(rule, by);
        },
      },
    },
  };
}

function verdictOf(rules: readonly Rule[], call: JudgedCall, now: number): Verdict {
  return decidingRule(rules, call, now)?.verdict ?? "allow";
}

function without(all: readonly Rule[], id: string | null): readonly Rule[] | null {
  const left = all.filter((rule) => rule.id !== id && (rule.passes?.some((passed) => passed !== id) ?? true));
  return left.length === all.length ? null : left;
}

/** What a field of the form offers, and what is said of anything else: such a rule would fit no call, or another. */
type Offers = Readonly<Record<string, { readonly offered: readonly string[]; readonly problem: string }>>;

function ruleFrom(form: URLSearchParams, clients: NamesOfClients, offers: Offers): Rule | string {
  for (const [name, { offered, problem }] of Object.entries(offers)) {
    if (!offered.includes(form.get(name) ?? "")) return problem;
  }
  const clientId = form.get("client") ?? "";
  const given = {
    person: form.get("person") ?? "",
    clientId,
    clientName: clients.get(clientId)?.slice(0, maxRuleTextCharacters) ?? "",
    tool: form.get("tool") ?? "",
    place: (form.get("place") ?? "").trim(),
  };
  const texts = Object.entries(given).filter(([, text]) => text !== "");
  // a rule that is cut, or that waits for a pattern, would fit no call and look as if it did
  if (given.place.length > maxRuleTextCharacters) return `A place has at most ${maxRuleTextCharacters} characters.`;
  if (/[*\\]|^(?:[a-z][\w+.-]*:)?\/|(?:^|\/)\.\.(?:\/|$)/i.test(given.place)) {
    return "A place is a path in the workspace or a table: no pattern, backslash or .. in it, no slash before it.";
  }
  const verdict = verdicts.find((each) => each === form.get("verdict")) ?? "ask";
  return {
    id: randomId(),
    ...Object.fromEntries(texts),
    verdict,
    ...(form.get("approver") === "administrator" && verdict === "ask" ? { approver: "administrator" as const } : {}),
  };
}

function ruleItem(rule: Rule, visit: Visit): Html {
  const words = ruleWords(rule);
  const until = rule.until !== undefined && html`
    <span class="quiet">Until ${timeOfDay(rule.until)}.</span>
  `;
  const by = rule.by !== undefined && html`<span class="quiet">By ${rule.by}.</span>`;
  const options = { values: { rule: rule.id }, kind: "plain", about: words } as const;
  const button = actButton(visit, "rules", "remove", "Remove", options);
  return html`<li>${words}${until}${by}<div class="row">${button}</div></li>`;
}

type Choices = readonly (readonly [value: string, words: string])[];

function ruleForm(visit: Visit, clients: Choices, people: Choices, tools: Choices): Html {
  const choice = (name: string, label: string, choices: Choices): Html =>
    choiceField(name, label, choices, visit.query.get(name) ?? "");
  return html`
    <form method="post" action="${visit.href("rules")}" class="row">
      ${actFields(visit.visitor, "add")}
      ${choice("verdict", "What happens", verdicts.map((each) => [each, verdictNames[each]]))}
      ${choice("tool", "Tool", [["", "Any tool"], [everyChange, "Every tool that changes something"], ...tools])}
      ${textField("place", "Directory, file or table", visit.query.get("place") ?? "", maxRuleTextCharacters)}
      ${choice("person", "Person", [["", "Anyone"], ...people])}
      ${choice("client", "Client", [["", "Any client"], ...clients])}
      ${choice("approver", "Approver", [["", "The person it acts for"], ["administrator", "An administrator"]])}
      <button type="submit" name="trial" value="yes" class="small plain">Test on the last 24 hours</button>
      <button type="submit" class="small">Add</button>
    </form>
  `;
}
