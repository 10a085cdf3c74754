/** Attempts put together from steps, and diagnoses that depend on time. */
import assert from "node:assert/strict";
import { attemptsOf, diagnose, isOfClient } from "../../src/console/connections/report.ts";
import { createAttemptRecorder } from "../../src/console/connections/recorder.ts";
import { makeStep, type NewStep, type Step } from "../../src/console/connections/step.ts";

const start = 1_800_000_000_000;
const second = 1_000;
const minute = 60 * second;

type Short = readonly [atMs: number, step: NewStep];

function stepsOf(...given: readonly Short[]): Step[] {
  return given.map(([atMs, step]) => makeStep(start + atMs, step));
}

const cloud = { address: "160.79.104.10", agent: "python-httpx/0.28" };
const caller = { address: "160.79.104.10", agent: "Claude-User" };
const browser = { address: "198.51.100.7", agent: "browser" };
const client = "pcc_1";

const reached: NewStep = { kind: "reached", outcome: "ok", ...caller };
const resourceMetadata: NewStep = { kind: "resource_metadata", outcome: "ok", ...cloud };
const serverMetadata: NewStep = { kind: "server_metadata", outcome: "ok", ...cloud };
const registered: NewStep = { kind: "registration", outcome: "ok", ...cloud, client };
const asked: NewStep = { kind: "authorization", outcome: "ok", ...browser, client, host: "claude.ai" };
const signedIn: NewStep = { kind: "sign_in", outcome: "ok", ...browser, client, person: "owner" };
const allowed: NewStep = { kind: "consent", outcome: "ok", ...browser, client, person: "owner" };
const gotToken: NewStep = { kind: "token", outcome: "ok", ...cloud, client, person: "owner" };
const called: NewStep = { kind: "call", outcome: "ok", reason: "tools/call", client, person: "owner" };

const upToPage: readonly Short[] = [
  [0, reached],
  [100, resourceMetadata],
  [200, serverMetadata],
  [300, registered],
  [2 * second, asked],
];
const upToConsent: readonly Short[] = [...upToPage, [20 * second, signedIn], [25 * second, allowed]];

function recorderOf(steps: Step[], given: { readonly issuer: string; readonly isDirect: boolean }) {
  return createAttemptRecorder({
    note: (step) => steps.push(makeStep(start, step)),
    isOwnHost: () => true,
    isOpen: true,
    isDiskFull: () => Promise.resolve(false),
    isClockSteady: () => true,
    elapsed: () => 0,
    ...given,
  });
}

async function causeOf(
  steps: readonly Step[],
  afterMs: number,
): Promise<readonly [state: string, cause: string | undefined]> {
  const [attempt, ...more] = await attemptsOf(steps);
  assert.deepEqual(more.length, 0, JSON.stringify(more));
  assert.ok(attempt);
  const { state, causes } = diagnose(attempt, attempt.lastAt + afterMs);
  return [state, causes[0]?.id];
}

Deno.test("an attempt is judged ten seconds after its last request, not before", async () => {
  const steps = stepsOf(...upToPage);
  assert.deepEqual(await causeOf(steps, 9 * second), ["going_on", undefined]);
  assert.deepEqual(await causeOf(steps, 10 * second), ["no_fault", "person_slow"]);
});

const byTime: readonly (readonly [name: string, steps: readonly Short[], afterMs: number, cause: string])[] = [
  ["the person closed the page", upToPage, 11 * minute, "person_away"],
  ["the person signed in and left", [...upToPage, [20 * second, signedIn]], 11 * minute, "decision_missing"],
  [
    "the code came late",
    [
      ...upToConsent,
      [3 * minute, { ...gotToken, outcome: "refused", reason: "expired_code" }],
    ],
    minute,
    "code_late",
  ],
  [
    "the access expired and was not renewed",
    [
      [0, { kind: "refused_token", outcome: "refused", reason: "expired_token", ...caller }],
    ],
    minute,
    "token_expired",
  ],
  [
    "the clock jumped between token and call",
    [
      ...upToConsent,
      [26 * second, gotToken],
      [27 * second, { kind: "refused_token", outcome: "refused", reason: "expired_token", ...caller }],
    ],
    minute,
    "clock_wrong",
  ],
  [
    "the clock of one instance is ahead",
    [
      ...upToConsent,
      [26 * second, gotToken],
      [27 * second, { kind: "refused_token", outcome: "refused", reason: "wrong_claims", ...caller }],
    ],
    minute,
    "clock_wrong",
  ],
  [
    "SERVER_URL was changed",
    [
      [0, { kind: "refused_token", outcome: "refused", reason: "wrong_issuer", ...caller }],
    ],
    minute,
    "wrong_audience",
  ],
  [
    "the refresh token has ended",
    [
      [0, { kind: "refused_token", outcome: "refused", reason: "expired_token", ...caller }],
      [second, { kind: "refresh", outcome: "refused", reason: "expired_refresh_token", ...caller, client }],
    ],
    minute,
    "refresh_expired",
  ],
  [
    "the client's key has expired",
    [
      ...upToConsent,
      [26 * second, { ...gotToken, outcome: "refused", reason: "invalid_client_assertion" }],
    ],
    minute,
    "client_assertion",
  ],
  [
    "the client's secret has expired",
    [
      ...upToConsent,
      [26 * second, { ...gotToken, outcome: "refused", reason: "expired_client_secret" }],
    ],
    minute,
    "client_secret_expired",
  ],
  [
    "the client's document cannot be fetched",
    [
      [0, reached],
      [100, resourceMetadata],
      [200, serverMetadata],
      [second, { ...asked, outcome: "refused", reason: "unexpected_status", client: "https://claude.ai/client" }],
    ],
    minute,
    "client_document_unreachable",
  ],
  [
    "the client's document breaks the rules",
    [
      [second, { ...asked, outcome: "refused", reason: "secret_in_document", client: "https://claude.ai/client" }],
    ],
    minute,
    "client_document_unusable",
  ],
  [
    "the client uses the return address of a former registration",
    [[0, { ...asked, outcome: "refused", reason: "redirect_uri_not_registered" }]],
    minute,
    "redirect_not_registered",
  ],
  [
    "the server has a bug",
    [
      [0, reached],
      [100, { ...registered, client: null, outcome: "refused", reason: "status_500" }],
    ],
    minute,
    "server_fault",
  ],
];

for (const [name, steps, afterMs, cause] of byTime) {
  Deno.test(`diagnose() names the cause: ${name}`, async () => {
    assert.equal((await causeOf(stepsOf(...steps), afterMs))[1], cause);
  });
}

Deno.test("what went wrong on the way and was made good is no cause", async () => {
  const steps = stepsOf(
    [0, { ...serverMetadata, outcome: "refused", reason: "status_404", path: "/.well-known/openid-configuration" }],
    ...upToConsent.map(([at, step]): Short => [at + 1, step]),
    [21 * second, { ...signedIn, outcome: "refused", reason: "wrong_passphrase" }],
    [26 * second, gotToken],
    [27 * second, { ...called, reason: "tools/list" }],
    [28 * second, called],
  ).sort((one, other) => one.time - other.time);
  assert.deepEqual(await causeOf(steps, minute), ["no_fault", "went_well"]);
});

Deno.test("the documents that a client reads again before its token are of the same attempt", async () => {
  const steps = stepsOf(
    ...upToConsent,
    [26 * second, resourceMetadata],
    [26.1 * second, serverMetadata],
    [26.2 * second, gotToken],
    [28 * second, called],
  );
  assert.deepEqual(await causeOf(steps, minute), ["no_fault", "went_well"]);
});

Deno.test("a client that tries again after it stopped has two attempts, and so have two clients of one address", async () => {
  const again = stepsOf(
    ...upToPage,
    ...upToPage.map(([at, step]): Short => [
      at + 5 * minute,
      "client" in step ? { ...step, client: "pcc_2" } : step,
    ]),
  );
  assert.deepEqual((await attemptsOf(again)).map((attempt) => attempt.client), ["pcc_1", "pcc_2"]);
  const other = { agent: "cursor/1.2" };
  const two = stepsOf(
    [0, { ...reached, agent: "claude-code/2" }],
    [50, { ...reached, ...other }],
    [100, { ...resourceMetadata, agent: "claude-code/2" }],
    [150, { ...resourceMetadata, ...other }],
    [200, { ...registered, agent: "claude-code/2" }],
    [250, { ...registered, ...other, client: "pcc_2" }],
  );
  assert.deepEqual((await attemptsOf(two)).map(({ client: id, steps }) => [id, steps.length]), [["pcc_1", 3], [
    "pcc_2",
    3,
  ]]);
});

Deno.test("a returning client and its browser elsewhere are put together while no other client waits", async () => {
  const steps = stepsOf(
    [0, reached],
    [100, resourceMetadata],
    [200, serverMetadata],
    [3 * second, { ...asked, outcome: "refused", reason: "unknown_client", client: "(8 characters, abcdefgh)" }],
  );
  assert.deepEqual(await causeOf(steps, minute), ["fault", "unknown_client"]);
});

Deno.test("who knows a client's id alone writes nothing under its name", async () => {
  const own: readonly Short[] = [...upToConsent, [26 * second, { ...gotToken, grant: "g" }]];
  const stranger = { client, address: "203.0.113.9", agent: "other", outcome: "refused" } as const;
  const kinds = [
    ["refresh", "unknown_refresh_token"],
    ["token", "unknown_code"],
    ["token", "missing_code"],
    ["token", "grant_type_not_registered"],
    ["authorization", "redirect_uri_mismatch"],
  ] as const;
  for (const [kind, reason] of kinds) {
    const all = await attemptsOf(stepsOf(...own, [minute, { ...stranger, kind, reason }]));
    assert.deepEqual(all.map(isOfClient), [true, false], kind);
    assert.deepEqual(all.map(({ steps: { length } }) => length), [own.length, 1], kind);
  }
  const lost: NewStep = {
    ...gotToken,
    person: null,
    kind: "refresh",
    outcome: "refused",
    reason: "unknown_refresh_token",
  };
  assert.equal((await attemptsOf(stepsOf(...own, [minute, lost]))).length, 1, "the client itself, from where it was");
});

const document = "https://claude.ai/oauth/claude-code-client-metadata";

Deno.test("two people whose clients share an id at once have an attempt each", async () => {
  const of = (network: string, grant: string | null = null) => ({ address: network, client: document, grant });
  const [ada, bob] = ["198.51.100.1", "198.51.100.2"];
  const agent = "claude-code/2.1";
  const steps = stepsOf(
    [0, { kind: "server_metadata", outcome: "ok", address: ada, agent }],
    [10, { kind: "server_metadata", outcome: "ok", address: bob, agent }],
    [second, { kind: "authorization", outcome: "ok", agent: "browser", host: "localhost:1", ...of(ada) }],
    [1.1 * second, { kind: "authorization", outcome: "ok", agent: "browser", host: "localhost:2", ...of(bob) }],
    [2 * second, { kind: "sign_in", outcome: "refused", reason: "wrong_passphrase", agent: "browser", ...of(bob) }],
    [3 * second, { kind: "sign_in", outcome: "ok", agent: "browser", person: "ada", ...of(ada) }],
    [4 * second, { kind: "consent", outcome: "ok", agent: "browser", person: "ada", ...of(ada, "g1") }],
    [5 * second, { kind: "token", outcome: "ok", agent, person: "ada", ...of(ada, "g1") }],
    [6 * second, { ...called, client: document, person: "ada", grant: "g1" }],
  );
  const attempts = await attemptsOf(steps);
  const told = attempts.map((attempt) => {
    const { state, causes } = diagnose(attempt, attempt.lastAt + minute);
    return [attempt.steps[0]?.address, state, causes[0]?.id];
  });
  assert.deepEqual(told, [[ada, "no_fault", "went_well"], [bob, "fault", "wrong_passphrase"]]);
});

Deno.test("each token of the command line has an attempt of its own", async () => {
  const ofToken = (grant: string) => ({ client: "portcullis-cli", person: "owner", grant });
  const steps = stepsOf(
    [0, { kind: "call", outcome: "ok", reason: "initialize", name: "one", ...ofToken("a") }],
    [10, { kind: "call", outcome: "refused", reason: "status_415", ...ofToken("b") }],
    [20, { ...called, ...ofToken("a") }],
    [30, { kind: "call", outcome: "refused", reason: "rate_limited", ...ofToken("c") }],
  );
  const causes = (await attemptsOf(steps)).map((attempt) => diagnose(attempt, attempt.lastAt + minute).causes[0]?.id);
  assert.deepEqual(causes, ["wrong_content_type", "calls_limited"]);
});

Deno.test("what expired while the clock stood is no fault of the clock, and what it jumped over is", async () => {
  const expired: NewStep = { kind: "refused_token", outcome: "refused", reason: "expired_token", ...caller };
  for (const [sign, cause] of [["clock_steady", "token_expired"], ["clock_jumped", "clock_wrong"]] as const) {
    const steps = stepsOf(...upToConsent, [26 * second, gotToken], [27 * second, { ...expired, sign }]);
    assert.deepEqual(await causeOf(steps, minute), ["fault", cause]);
    const [attempt] = await attemptsOf(steps);
    assert.equal(diagnose(attempt ?? assert.fail(), start + minute * 10).causes.length, 1, "no other is named");
  }
});

Deno.test("a call that failed after the list was read is not made good by reading the list again", async () => {
  const refusedCall: NewStep = { ...called, outcome: "refused", reason: "insufficient_scope", path: "tools/call" };
  const listed: NewStep = { ...called, reason: "tools/list" };
  const upToList: readonly Short[] = [...upToConsent, [26 * second, gotToken], [27 * second, listed]];
  const failed: readonly Short[] = [...upToList, [28 * second, refusedCall], [29 * second, listed]];
  assert.deepEqual(await causeOf(stepsOf(...failed), minute), ["fault", "scope_missing"]);
  assert.deepEqual(await causeOf(stepsOf(...failed, [30 * second, called]), minute), ["no_fault", "went_well"]);
});

Deno.test("every reason for which something is refused has a cause", async () => {
  for (
    const kind of [
      "registration",
      "authorization",
      "sign_in",
      "consent",
      "token",
      "refresh",
      "refused_token",
      "call",
    ] as const
  ) {
    for (const reason of ["anything", "status_500", "status_503", "status_429", "disk_full"]) {
      const [state, cause] = await causeOf(
        stepsOf([0, { kind: "reached", outcome: "ok", ...cloud }], [1, {
          kind,
          outcome: "refused",
          reason,
          client,
          ...cloud,
        }]),
        minute,
      );
      assert.equal(state, "fault", `${kind} ${reason}`);
      assert.ok(cause !== undefined);
    }
  }
});

Deno.test("a proxy that no setting names is known by what it adds, and named beside the client", async () => {
  for (
    const [added, isNamed] of [["via", true], ["x-forwarded-for", true], ["forwarded", true], ["dnt", false]] as const
  ) {
    const steps: Step[] = [];
    const recorder = recorderOf(steps, { issuer: "http://127.0.0.1:3000", isDirect: true });
    const headers = { accept: "text/event-stream", [added]: "1.1 proxy" };
    const request = new Request("http://127.0.0.1:3000/", { method: "POST", headers });
    await recorder.around(request, { address: "127.0.0.1" }, () => new Response(null, { status: 405 }));
    const [found] = await attemptsOf(steps);
    assert.ok(found);
    assert.equal(
      /a proxy changes the path/.test(diagnose(found, start + minute).causes[0]?.words ?? ""),
      isNamed,
      added,
    );
  }
});

Deno.test("a proxy that passes a path wrongly is explained: unknown to SERVER_URL, added twice, without the documents", async () => {
  const attempt = async (issuer: string, asked: string, status: number): Promise<[string, string]> => {
    const steps: Step[] = [];
    const recorder = recorderOf(steps, { issuer, isDirect: false });
    const request = new Request(`https://host.example${asked}`, {
      method: status === 401 ? "POST" : "GET",
      headers: { accept: "text/event-stream" },
    });
    const peer = { address: "203.0.113.1" };
    if (status === 401) recorder.noteStranger(request, peer, { status, reason: null });
    else await recorder.around(request, peer, () => new Response(null, { status }));
    const [found] = await attemptsOf(steps);
    assert.ok(found, asked);
    const [first] = diagnose(found, start + minute).causes;
    return [first?.id ?? "none", `${first?.words} ${first?.remedy}`];
  };
  const [root, below] = ["https://host.example", "https://host.example/gate"];
  for (
    const [issuer, asked, status, id, words] of [
      [root, "/gate/mcp", 404, "wrong_path", /begins with \/gate\. .*https:\/\/mcp\.example\.com\/gate[:.]/],
      [root, "/tools/gate/oauth/token", 404, "wrong_path", /begins with \/tools\/gate\./],
      [root, "/.well-known/oauth-protected-resource/gate/mcp", 404, "path_rule", /begins with \/gate\..*SERVER_URL/],
      [root, "/.well-known/oauth-protected-resource/mcp", 404, "path_rule", /documents/],
      [root, "/sse", 404, "wrong_path", /old HTTP/],
      [below, "/other/mcp", 404, "wrong_path", /begins with \/other\./],
      [below, "/gate/mcp", 404, "wrong_path", /adds \/gate/],
      [
        below,
        "/mcp",
        401,
        "documents_not_reached",
        /location \^~ \/\.well-known\/oauth-protected-resource\/gate\/ \{/,
      ],
      [root, "/mcp", 401, "documents_not_reached", /waits until you ask/],
    ] as const
  ) {
    const [foundId, foundWords] = await attempt(issuer, asked, status);
    assert.equal(foundId, id, `${issuer} ${asked}: ${foundWords}`);
    assert.match(foundWords, words);
  }
});
