/** `users sign-in-link` beside a server whose one address a stranger has used up. */
import assert from "node:assert/strict";
import { needing } from "../fixtures/forms/chosen_form.ts";
import { ownerPassphrase, setUpOwner } from "../fixtures/owner.ts";
import { createPerson } from "../fixtures/person.ts";
import { makeServerPlace, runCommand, startServer } from "../fixtures/running_server.ts";

const inOneProcess = needing("one process");

inOneProcess.test("a printed link opens the sign-in page though the address has no attempts left, and works once", async () => {
  await using place = await makeServerPlace();
  await using server = await startServer(place);
  await setUpOwner(createPerson(server.url), server);
  let status = 0;
  for (let request = 0; request < 1_000 && status !== 429; request++) {
    status = (await createPerson(server.url).open(`${server.url}/oauth/grants`)).status;
  }
  assert.equal(status, 429);

  const person = createPerson(server.url);
  const flags = ["--data-dir", place.dataDir, "--server-url", server.url];
  const { code, stdout, stderr } = await runCommand(["users", "sign-in-link", "owner", ...flags]);
  assert.equal(code, 0, stderr);
  const link = stdout.trim();
  assert.ok(link.startsWith(`${server.url}/oauth/sign-in?link=`), link);
  const page = await person.open(link);
  assert.equal(page.status, 200, page.html);
  const signedIn = await person.submit(page, { passphrase: ownerPassphrase });
  assert.equal(signedIn.status, 200, signedIn.html);
  assert.match(signedIn.html, /Sign out/);
  const again = await createPerson(server.url).open(link);
  assert.ok(again.status === 429 || again.status === 403, "used up; the address may have attempts again by now");

  const unknown = await runCommand(["users", "sign-in-link", "nobody", ...flags]);
  assert.deepEqual([unknown.code, unknown.stdout], [1, ""]);
  assert.match(unknown.stderr, /there is no user "/);
});
