/** `/console`: the pages where the owner, administrators and everyone for their own things see and steer. */
import { boundedMap } from "../../lib/bounded_map.ts";
import { pause } from "../../lib/time.ts";
import { inTurns, nextTurn } from "../../lib/turns.ts";
import type { Act, ConsoleSources, LiveParts, Section, Visit } from "./section.ts";
import { basePathOf, type Html, html, seeOther } from "../../lib/page.ts";
import type { Visitor } from "../../oauth/mod.ts";
import type { Endpoint, Peer, Route } from "../../lib/endpoint.ts";
import { equalInConstantTime } from "../../lib/secrets.ts";
import { consolePage } from "./frame.ts";
import { withCommandLines } from "../../lib/program_name.ts";
import { activitySection } from "./activity.ts";
import { changeSection, createChanges, createOwnFiles, filesSection } from "./files.ts";
import { connectionsSection, whySection } from "./connections.ts";
import { createDayOfCalls } from "./day_of_calls.ts";
import { decisionsSection } from "./decisions.ts";
import { changesPart, overviewSection } from "./overview.ts";
import { peopleSection } from "./people.ts";
import { rulesSection } from "./rules.ts";
import { settingsSection } from "./settings_in_force.ts";

/** The routes of the whole console, and `close` for the streams of open pages; see `createConsole`. */
export function openConsole(sources: ConsoleSources) {
  const { decisions, live } = sources;
  const day = createDayOfCalls(sources);
  const nameOf = async (id: string): Promise<[string, string]> => [
    id,
    sources.nameOfClient(id) ?? await sources.readClientName(id) ?? id,
  ];
  const namesOf = async (ids: readonly string[]) => new Map(await Promise.all(ids.map(nameOf)));
  const files = createOwnFiles(sources);
  const changes = createChanges(sources, files.ruledOut);
  const lastChanges = changesPart(day.today, changes.find, files.ruledOut, (id) => sources.nameOfClient(id) ?? id);
  return createConsole({
    ...sources,
    waiting: async (visitor) => (await decisions.waiting(visitor)).length,
    warnings: (section, { isAdministrator }) =>
      live.switches.state.stopped === null || (isAdministrator && section === "activity") ? [] : [
        `All calls are stopped. ${isAdministrator ? "Activity lets" : "An administrator can let"} them run again.`,
      ],
    sections: [
      overviewSection(sources, day, lastChanges),
      activitySection(sources, namesOf),
      changeSection(changes, files.ruledOut),
      decisionsSection(decisions, lastChanges),
      connectionsSection(sources, day.usage),
      whySection(sources),
      filesSection(files, changes, namesOf),
      settingsSection(sources),
      peopleSection(sources),
      rulesSection(sources, day),
    ],
  });
}

// `/console/events`: what changed on a page that is open, rendered by the server, as an event stream.

const lookMs = 1_000;
const beatMs = 15_000;
const maxStreams = 100;
const maxStreamsOfPerson = 8;
/** Then the page opens another, whose answer renews the session; on plain http a session lasts ten minutes. */
const maxStreamMs = 240_000;
/** A rendering is used again, by every stream of the same page, for so many times as long as it took and as there are pages. */
const reuseFactor = 20;

/**
 * Keeps the last rendering of each page that is watched, for all who watch it: together they take no more than a
 * twentieth of the thread. One that began before `since` (on the clock of `performance.now()`) is not used: it may show
 * what the page was before an act on it.
 */
export function createSharedRendering(elapsed = (): number => performance.now()) {
  const kept = boundedMap<string, { readonly parts: Promise<LiveParts>; readonly started: number; until: number }>(
    maxStreams,
  );
  return async (page: string, since: number, render: () => Promise<LiveParts>): Promise<LiveParts> => {
    await nextTurn();
    const known = kept.get(page);
    const started = elapsed();
    if (known !== undefined && started < known.until && known.started >= since) return await known.parts;
    const rendering = { parts: render(), started, until: Infinity };
    kept.set(page, rendering);
    return await rendering.parts.finally(() => {
      const took = elapsed() - started;
      const watched = [...kept.values()].filter(({ until }) => until > started - beatMs).length;
      rendering.until = started + Math.min(beatMs, Math.max(lookMs / 2, reuseFactor * took * watched));
    });
  };
}

/** Event streams of open pages. */
function createPageStreams() {
  const open: string[] = [];
  const ending = new AbortController();
  return {
    /**
     * Sends the parts that differ from what was sent before, until `look` gives `null` (the person signed out) or the
     * page is closed. `null` when there are too many streams.
     */
    open(person: string, look: () => Promise<LiveParts | null>): Response | null {
      if (open.length >= maxStreams || open.filter((each) => each === person).length >= maxStreamsOfPerson) return null;
      open.push(person);
      const closed = new AbortController();
      const end = (): void => {
        if (!closed.signal.aborted) open.splice(open.indexOf(person), 1);
        closed.abort();
      };
      const events = eventsOf(look, AbortSignal.any([closed.signal, ending.signal]));
      const encoder = new TextEncoder();
      const stream = new ReadableStream<Uint8Array>({
        async pull(controller) {
          const next = await events.next().catch(() => null); // the page asks again
          if (next?.done === false) return controller.enqueue(encoder.encode(next.value));
          end();
          controller.close();
        },
        cancel: end,
      });
      return new Response(stream, {
        headers: {
          "content-type": "text/event-stream",
          "cache-control": "no-store",
          "x-accel-buffering": "no", // nginx would hold the events back
          "x-content-type-options": "nosniff",
        },
      });
    },
    close: () => ending.abort(),
  };
}

/** Looks again once what was sent is read. */
async function* eventsOf(look: () => Promise<LiveParts | null>, signal: AbortSignal) {
  const sent = new Map<string, string>();
  const end = performance.now() + maxStreamMs;
  let silentMs = 0;
  yield "retry: 2000\n\n";
  while (!signal.aborted && performance.now() < end) {
    const parts = await look();
    if (parts === null || signal.aborted) return;
    const changed = Object.entries(parts).flatMap(([id, { markup }]) => sent.get(id) === markup ? [] : [[id, markup]]);
    for (const [id = "", markup = ""] of changed) sent.set(id, markup);
    if (changed.length > 0 || silentMs >= beatMs) {
      yield changed.length > 0 ? `data: ${JSON.stringify(Object.fromEntries(changed))}\n\n` : ":\n\n";
      silentMs = 0;
    }
    await pause(lookMs, signal);
    silentMs += lookMs;
  }
}

// The page that asks for the passphrase once more, before a dangerous act.

/** The form again, with the passphrase; `form` holds what was posted. */
function confirmBody(words: string, form: URLSearchParams, action: string, problem: string | null): Html {
  const kept = [...form].filter(([name]) => name !== "passphrase")
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
  const described = problem === null ? null : html`aria-invalid="true" aria-describedby="problem"`;
  return html`
    <p>To ${words}, enter your passphrase again.</p>
    ${problem !== null && html`<p class="note bad" id="problem" role="alert">${problem}</p>`}
    <form method="post" action="${action}">
      ${kept}
      <label class="field" for="passphrase">Passphrase</label>
      <input type="password" id="passphrase" name="passphrase" autocomplete="current-password" required autofocus
        maxlength="1024" ${described}>
      <div class="actions"><button type="submit">Confirm</button></div>
    </form>
  `;
}

function pageOf({ name }: Section): "console" | `console/${string}` {
  return name === "" ? "console" : `console/${name}`;
}

function rightsOf({ userId, isAdministrator, mayGrant }: Visitor): string {
  return JSON.stringify([userId, isAdministrator, mayGrant && [...mayGrant].toSorted()]);
}

interface ConsoleOptions extends Pick<ConsoleSources, "issuer" | "visits" | "secrets" | "clock" | "signInCountsMs"> {
  readonly sections: readonly Section[];
  /** Said at the top of a section's page: that calls are stopped, for example. */
  warnings(section: string, visitor: Visitor): readonly string[];
  /** How many calls wait for the visitor's decision. */
  waiting(visitor: Visitor): Promise<number>;
}

/** How long after a sign-in dangerous acts need no passphrase. */
const signInCountsMs = 300_000;
/** Of what was done: it is in the address of the page that follows. */
const maxDoneCharacters = 500;

interface Posted {
  readonly request: Request;
  readonly peer: Peer;
  readonly visitor: Visitor;
  readonly form: URLSearchParams;
}

/**
 * The routes of all sections and of the stream that keeps open pages up to date. Who visits is judged for each request
 * and for each look of a stream; acts need the form's token, dangerous ones the passphrase where the sign-in is old.
 * `close` ends the streams of open pages.
 */
export function createConsole(options: ConsoleOptions) {
  const { issuer, visits, secrets, clock, sections, warnings, waiting } = options;
  const base = basePathOf(issuer);
  const streams = createPageStreams();
  const rendering = createSharedRendering();
  const pathOf = (name: string): string => `${base}/console${name === "" ? "" : `/${name}`}`;
  const markOf = ({ csrf }: Visitor, done: string): string => secrets.authenticate("console-done", `${csrf} ${done}`);
  const visitOf = (visitor: Visitor, query: URLSearchParams): Visit => ({
    visitor,
    query,
    now: clock(),
    href: (name, values = {}) => {
      const text = new URLSearchParams(values).toString();
      return text === "" ? pathOf(name) : `${pathOf(name)}?${text}`;
    },
  });
  const mayOpen = (visitor: Visitor) => ({ forAdministrators }: Pick<Section, "forAdministrators">): boolean =>
    visitor.isAdministrator || forAdministrators !== true;

  const framed = async (
    section: Section,
    visit: Visit,
    page: { body: Html; problem?: string; done?: string; status?: number; cookies?: readonly string[]; alone?: true },
  ): Promise<Response> => {
    const { body, problem, done, alone, ...sent } = page;
    const events = new URLSearchParams([...visit.query].filter(([name]) => name !== "done" && name !== "mark"));
    events.set("section", section.name);
    return consolePage({
      section,
      sections: sections.filter((each) => each.unlisted !== true && mayOpen(visit.visitor)(each)),
      visit,
      body,
      waiting: await waiting(visit.visitor),
      signOutPath: `${base}/oauth/sign-out`,
      eventsPath: section.live === undefined || alone ? null : `${base}/console/events?${events}`,
      notes: [
        ...warnings(section.name, visit.visitor).map((words) => ({ kind: "warn" as const, words })),
        ...problem === undefined ? [] : [{ kind: "bad" as const, words: withCommandLines(problem) }],
        ...done === undefined ? [] : [{ kind: "good" as const, words: done }],
      ],
      sent,
    });
  };

  const bodyOf = async (section: Section, visit: Visit): Promise<Html> => {
    await nextTurn(); // many who ask at once have waited for the same, and would go on together
    const live = section.live === undefined ? {} : await inTurns(section.live(visit));
    const parts = Object.entries(live).map(([id, part]) => [id, html`<div id="${id}">${part}</div>`]);
    return await section.show(visit, Object.fromEntries(parts));
  };

  const show = async (section: Section, visit: Visit): Promise<Response> => {
    const done = visit.query.get("done") ?? "";
    const isDone = equalInConstantTime(visit.query.get("mark") ?? "", markOf(visit.visitor, done));
    return framed(section, visit, { body: await bodyOf(section, visit), ...isDone ? { done } : {} });
  };

  const refuse = (section: Section, visit: Visit, words: string): Promise<Response> =>
    framed(section, visit, { body: html`<p>${words}</p>`, status: 403, alone: true });

  /** The page that asks for the passphrase; where it was given and right, or is not needed, cookies to set. */
  const confirmed = async (
    section: Section,
    visit: Visit,
    { words, isCarried = false }: { readonly words: string; readonly isCarried: boolean | undefined },
    { request, peer, visitor, form }: Posted,
  ): Promise<Response | { readonly cookies: readonly string[] }> => {
    const at = isCarried ? visitor.signedInAt : visitor.confirmedAt; // a stop gives no power: single sign-on is enough
    if (clock() - at < (options.signInCountsMs ?? signInCountsMs)) return { cookies: [] };
    if (visitor.byCompany) {
      // what was posted is not done afterwards, but for what has to be quick: the person decides again
      const page = isCarried ? visits.carry(request, pageOf(section), form.get("act") ?? "") : pageOf(section);
      const then = isCarried ? "Then it is done." : "You come back to this page: then press the button once more.";
      const body = html`
        <p>To ${words}, sign in to your company account again. ${then} Nothing was changed yet.</p>
        <p><a class="button" href="${visits.confirmPath(page)}">Sign in again</a></p>
      `;
      return await framed(section, visit, { body, alone: true });
    }
    if (visits.signInIsElsewhere) {
      if (isCarried) {
        return await visits.askSignIn(request, visits.carry(request, pageOf(section), form.get("act") ?? ""));
      }
      const why = `To ${words}, sign out and in again: it was too long ago. Nothing was changed.`;
      return await refuse(section, visit, why);
    }
    const passphrase = form.get("passphrase");
    const outcome = passphrase === null ? null : await visits.confirm(request, visitor, passphrase, peer);
    if (outcome?.ok) return { cookies: [outcome.value.cookie] };
    const body = confirmBody(words, form, pathOf(section.name), outcome?.error.words ?? null);
    return await framed(section, visit, { body, status: outcome?.error.status ?? 200, alone: true });
  };

  const perform = async (section: Section, act: Act, posted: Posted): Promise<Response> => {
    const { visitor, form, peer } = posted;
    const visit = { ...visitOf(visitor, new URLSearchParams()), form, by: { ...visitor, address: peer.address } };
    if (!mayOpen(visitor)(act)) return await refuse(section, visit, "Only the owner and administrators may do that.");
    const words = typeof act.confirm === "function" ? act.confirm(form) : act.confirm ?? null;
    const confirmation = words === null
      ? { cookies: [] }
      : await confirmed(section, visit, { words, isCarried: act.isCarried }, posted);
    if (confirmation instanceof Response) return confirmation;
    const { cookies } = confirmation;
    const outcome = await act.run(visit);
    if (!("ok" in outcome)) return await framed(section, visit, { body: outcome, cookies, alone: true });
    if (outcome.ok) {
      const done = outcome.value.slice(0, maxDoneCharacters).toWellFormed();
      // A renewed session has the same browser cookie, so the form's token, and with it the mark, stay.
      return seeOther(visit.href(section.name, { ...act.view?.(visit), done, mark: markOf(visitor, done) }), cookies);
    }
    // With what was posted, so that nothing has to be typed again.
    const query = new URLSearchParams([...form].filter(([field]) => field !== "csrf" && field !== "passphrase"));
    const body = await bodyOf(section, { ...visit, query });
    return await framed(section, visit, { body, problem: outcome.error, status: 422, cookies });
  };

  const endpointOf = (section: Section): Endpoint => async (request, peer) => {
    const page = pageOf(section);
    const actOf = (name: string): Act | undefined =>
      Object.hasOwn(section.acts ?? {}, name) ? section.acts?.[name] : undefined;
    if (request.method === "POST") {
      const posted = await visits.readForm(request, page, (name) => actOf(name)?.isCarried === true);
      if (!posted.ok) return posted.error;
      const { visitor, form } = posted.value;
      const act = actOf(form.get("act") ?? "");
      if (act === undefined || !mayOpen(visitor)(section)) {
        return await refuse(section, visitOf(visitor, new URLSearchParams()), "This page cannot do that.");
      }
      return await perform(section, act, { request, peer, visitor, form });
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      return new Response(null, { status: 405, headers: { allow: "GET, HEAD, POST" } });
    }
    const entered = await visits.enter(request, page);
    if (!entered.ok) return entered.error;
    const visit = visitOf(entered.value, new URL(request.url).searchParams);
    if (!mayOpen(entered.value)(section)) {
      return await refuse(section, visit, "This page is for the owner and administrators.");
    }
    const carried = request.method === "GET" ? visits.carriedAct(request, page) : null;
    const act = actOf(carried ?? "");
    if (carried !== null && act?.isCarried) {
      const form = new URLSearchParams({ act: carried });
      return await perform(section, act, { request, peer, visitor: entered.value, form });
    }
    return visit.query.has("download") && section.download !== undefined
      ? await section.download(visit, async () => {
        const again = await visits.enter(request, page);
        return again.ok && rightsOf(again.value) === rightsOf(entered.value);
      })
      : await show(section, visit);
  };

  const eventsEndpoint: Endpoint = async (request) => {
    if (request.method !== "GET") return new Response(null, { status: 405, headers: { allow: "GET" } });
    const query = new URL(request.url).searchParams;
    const section = sections.find(({ name }) => name === query.get("section"));
    const found = await visits.enter(request, "console");
    if (!found.ok) return new Response(null, { status: 401 });
    if (section?.live === undefined || !mayOpen(found.value)(section)) return new Response(null, { status: 404 });
    const { live } = section;
    const opened = performance.now();
    const stream = streams.open(found.value.userId, async () => {
      const seen = await visits.enter(request, "console");
      if (!seen.ok || !mayOpen(seen.value)(section)) return null;
      const { userId, csrf, isAdministrator } = seen.value; // what is rendered has the form's token of this browser
      const page = JSON.stringify([userId, csrf, isAdministrator, String(query)]);
      return await rendering(page, opened, async () => {
        const [parts, count] = await Promise.all([live(visitOf(seen.value, query)), waiting(seen.value)]);
        return { ...parts, "waiting-count": html`${count || null}` };
      });
    });
    const renewed = stream === null ? null : await visits.renew(request);
    if (renewed !== null) stream?.headers.append("set-cookie", renewed);
    return stream ?? new Response(null, { status: 503, headers: { "retry-after": "10" } });
  };

  const endpoints = [
    ...sections.map((section) => ({ path: `/${pageOf(section)}`, endpoint: endpointOf(section) })),
    { path: "/console/events", endpoint: eventsEndpoint },
  ];
  const routes = endpoints.map(({ path, endpoint }): Route => ({ paths: [path], kind: "page", endpoint }));
  return { routes, close: streams.close };
}
