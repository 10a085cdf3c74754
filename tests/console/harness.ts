/** The console over a real authorization server, in browsers of several people. */
import assert from "node:assert/strict";
import { createConsole } from "../../src/console/pages/console.ts";
import { connectionsSection } from "../../src/console/pages/connections.ts";
import { overviewSection } from "../../src/console/pages/overview.ts";
import { peopleSection } from "../../src/console/pages/people.ts";
import { settingsSection } from "../../src/console/pages/settings_in_force.ts";
import { type Html, html } from "../../src/lib/page.ts";
import { success } from "../../src/lib/result.ts";
import type { FoundLine } from "../../src/audit/recorder.ts";
import { createDayOfCalls } from "../../src/console/pages/day_of_calls.ts";
import type { Act, ConsoleSources, Section } from "../../src/console/pages/section.ts";
import {
  fetchFrom,
  type Harness,
  type HarnessOptions,
  hiddenField,
  issuer,
  mount,
  openBrowser,
  passphrase,
  postLinkForm,
  startHarness,
  type TestBrowser,
} from "../authorization_server/harness.ts";

/** A part of a page where there is nothing to show. */
export const noPart = (): Promise<Html> => Promise.resolve(html``);

/** The search of an audit that has these lines, which may become more. */
export function searchIn(lines: readonly FoundLine[]): ConsoleSources["search"] {
  return ({ since = 0 }, { limit, cursor }) => {
    const fitting = lines.filter(({ time }) => time >= since).toSorted((one, other) => other.time - one.time);
    const end = Number(cursor ?? 0) + limit;
    const next = end < fitting.length ? String(end) : null;
    return Promise.resolve({ lines: fitting.slice(end - limit, end), cursor: next });
  };
}

/** A section whose act is done after a sign-in, and who did it. */
export function stopSection(): { readonly section: Section; readonly done: string[] } {
  const done: string[] = [];
  const stop: Act = {
    isCarried: true,
    forAdministrators: true,
    confirm: "stop all calls of everyone",
    run: ({ by }) => Promise.resolve(success(`stopped ${done.push(by.userId)}`)),
  };
  const start: Act = { run: () => Promise.resolve(success(`started ${done.push("start")}`)) };
  return {
    section: { name: "activity", title: "Activity", show: () => html`<p>Running</p>`, acts: { stop, start } },
    done,
  };
}

/** The harness of the authorization server, with the console mounted. */
export interface ConsoleHarness extends Harness {
  readonly warnings: string[];
}

export async function startConsole(
  more: readonly Section[] = [],
  { lines = [], ...options }: HarnessOptions & { readonly lines?: readonly FoundLine[] } = {},
): Promise<ConsoleHarness> {
  const harness = await startHarness(options);
  const { visits, administration } = await harness.server.forConsole();
  const warnings: string[] = [];
  const sources = {
    issuer,
    secrets: harness.secrets,
    administration,
    decisions: { waiting: () => Promise.resolve([]) } as unknown as ConsoleSources["decisions"],
    tools: [],
    clock: () => harness.time.now,
    nameOfClient: () => null,
    search: searchIn(lines),
    callsOfDay: () => Promise.resolve([]),
    health: () => Promise.resolve([{ name: "Storage", state: "well", text: "Fine." }]),
    servicenow: null,
    companyLink: null,
  } as unknown as ConsoleSources;
  const day = createDayOfCalls(sources);
  const pages = createConsole({
    issuer,
    visits,
    secrets: harness.secrets,
    clock: () => harness.time.now,
    warnings: () => warnings,
    waiting: () => Promise.resolve(0),
    sections: [
      overviewSection(sources, day, noPart),
      connectionsSection(sources, day.usage),
      peopleSection({ administration, visits }),
      settingsSection({
        log: { write: () => {}, flush: () => {} },
        directories: null,
        settings: [{ heading: "Address", name: "PORT", value: "3000", source: "default" }],
      }),
      ...more,
    ],
  });
  const endpoints = {
    ...mount(harness.server),
    ...Object.fromEntries(pages.routes.flatMap(({ paths, endpoint }) => paths.map((path) => [path, endpoint]))),
  };
  return {
    ...harness,
    warnings,
    fetch: fetchFrom(endpoints, issuer),
    async [Symbol.asyncDispose]() {
      pages.close();
      await harness[Symbol.asyncDispose]();
    },
  };
}

/** A browser in which someone signed in on the way to a page of the console. */
export async function signInTo(
  harness: ConsoleHarness,
  { path = "/console", username = "owner", secret = passphrase } = {},
): Promise<TestBrowser> {
  const browser = openBrowser(harness);
  const asked = await (await browser.get(path)).text();
  const next = `/oauth/sign-in?${new URLSearchParams({ next: path.slice(1) })}`;
  const form = { csrf: hiddenField(asked, "csrf"), username, passphrase: secret };
  const response = await browser.post(next, form);
  assert.equal(response.headers.get("location"), path, await response.text());
  return browser;
}

/** Posts a form of a page of the console. */
export async function act(
  browser: TestBrowser,
  path: string,
  fields: Readonly<Record<string, string>>,
): Promise<Response> {
  const page = await (await browser.get(path)).text();
  return await browser.post(path, { csrf: hiddenField(page, "csrf"), ...fields });
}

/** A new person, as the invitation link makes one. */
export async function invitePerson(harness: ConsoleHarness, owner: TestBrowser, name: string): Promise<string> {
  const invited = await (await act(owner, "/console/people", { act: "invite", user: name })).text();
  const code = /\/invitation\?code=([A-Za-z0-9_-]+)/.exec(invited)?.[1];
  assert.ok(code !== undefined, invited);
  const secret = `a passphrase of ${name} alone`;
  const browser = openBrowser(harness);
  const chosen = await postLinkForm(browser, "/invitation", { code, passphrase: secret, confirmation: secret });
  assert.equal(chosen.status, 303, await chosen.text());
  return secret;
}
