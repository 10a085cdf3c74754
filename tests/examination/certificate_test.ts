import assert from "node:assert/strict";
import { examineCertificate } from "../../src/app/doctor_machine.ts";
import { hasOpenssl, makeCertificate } from "../fixtures/certificate.ts";
import { skippedUnless } from "../fixtures/skipped_unless.ts";

Deno.test({
  ...skippedUnless(
    hasOpenssl(),
    "there is no openssl",
    "the served certificate is judged by its dates, its names and its chain",
  ),
  fn: async () => {
    const directory = await Deno.makeTempDir();
    try {
      const { certificateFile, certificate } = await makeCertificate(directory, "own");
      const tls = { certificates: certificate, privateKey: "", files: [certificateFile] };
      const textsAt = (clock: number, serverUrl = "https://localhost") =>
        [...examineCertificate(tls, { serverUrl, clock: () => clock })].map(({ state, text }) => `${state} ${text}`);
      const day = 86_400_000;
      const now = Date.now();
      assert.match(textsAt(now).join("\n"), /^warning .* expires soon, on .*\nwarning .* is self-signed/);
      assert.match(textsAt(now + 3 * day).join("\n"), /has expired, on /);
      assert.match(textsAt(now - 3 * day).join("\n"), /is not valid before /);
      assert.match(textsAt(now, "https://mcp.example.com").join("\n"), /is not for mcp\.example\.com/);
      assert.doesNotMatch(textsAt(now, "https://127.0.0.1:8443").join("\n"), /is not for/);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});
