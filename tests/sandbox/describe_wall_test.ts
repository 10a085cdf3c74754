import assert from "node:assert/strict";
import { describeWall, type RaceFreedom } from "../../src/app/sandbox/describe_wall.ts";
import type { ServerPermissions } from "../../src/app/sandbox/permissions.ts";

const permissions: ServerPermissions = {
  net: ["127.0.0.1:3000", "127.0.0.1:11434"],
  read: ["/srv/files", "/srv/data"],
  write: ["/srv/files", "/srv/data"],
  env: false,
  run: false,
  ffi: [],
  sys: false,
  import: false,
};

Deno.test("describeWall() says what tools reach, what the server listens on, and that the data directory is gone by then", () => {
  const [reached, before] = describeWall({
    permissions: { ...permissions, net: ["127.0.0.1:3000", "127.0.0.1:9464", "127.0.0.1:11434"] },
    listenAddresses: ["127.0.0.1:3000", "127.0.0.1:9464"],
    storagePaths: ["/srv/data"],
    raceFreedom: { raceFree: false, reason: "this is a test" },
    clientMetadataDocuments: false,
    issuer: null,
  });
  assert.equal(reached, "tools reach 127.0.0.1:11434 and the files in /srv/files, and nothing else");
  assert.equal(
    before,
    "the server also holds 127.0.0.1:3000, 127.0.0.1:9464 to listen on and, until it answers, /srv/data",
  );
});

Deno.test("describeWall() does not keep quiet about what is not covered", () => {
  const off: RaceFreedom = { raceFree: false, reason: "only Linux has openat2" };
  const textOf = (raceFreedom: RaceFreedom, clientMetadataDocuments: boolean): string =>
    describeWall({
      permissions,
      listenAddresses: ["127.0.0.1:3000"],
      storagePaths: ["/srv/data"],
      raceFreedom,
      clientMetadataDocuments,
      issuer: clientMetadataDocuments ? "https://login.example.com/tenant" : null,
    }).join("\n");
  const isOff = /not confined by the kernel, because only Linux has openat2: .*files outside read, .* and deleted/;
  assert.match(textOf(off, false), isOff);
  const ownMount = textOf({ raceFree: true, because: "own_mount" }, false);
  assert.match(ownMount, /a separate file system: .*listings can show names, sizes and times from outside/);
  assert.match(ownMount, /not covered: links/);
  assert.match(textOf({ raceFree: true, because: "kernel" }, false), /the kernel resolves each name/);
  assert.match(textOf(off, true), /CLIENT_METADATA_DOCUMENTS=off/);
  assert.match(textOf(off, true), /reach login\.example\.com and the hosts that its metadata names/);
  assert.doesNotMatch(textOf(off, false), /CLIENT_METADATA_DOCUMENTS/);
});
