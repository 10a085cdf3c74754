/** curl as scripts use it, with the links of the started server. */
import assert from "node:assert/strict";
import { withFileServer } from "../fixtures/file_server.ts";
import { hasProgram, skippedUnless } from "../fixtures/skipped_unless.ts";
import { until } from "../fixtures/until.ts";
import { ask, downloadLink, uploadLink } from "./links.ts";

const content = new Uint8Array(8_000_000).map((_, index) => index % 251);

async function curl(cwd: string, ...args: string[]): Promise<{ readonly code: number; readonly text: string }> {
  const output = await new Deno.Command("curl", { args: ["-sS", ...args], cwd }).output();
  const decoder = new TextDecoder();
  return { code: output.code, text: decoder.decode(output.stdout) + decoder.decode(output.stderr) };
}

Deno.test({
  ...skippedUnless(
    hasProgram("curl"),
    "there is no curl",
    "curl -T puts a file, again where it broke, curl -O gets it by its name, and -J names it as it is called",
  ),
  fn: () =>
    withFileServer({}, async (files) => {
      const directory = await Deno.makeTempDir({ prefix: "portcullis-curl-" });
      try {
        Deno.writeFileSync(`${directory}/here.bin`, content);
        const put = await curl(directory, "-fT", "here.bin", await uploadLink(files, "Übersicht.bin"));
        assert.deepEqual([put.code, JSON.parse(put.text).size_bytes], [0, content.length], put.text);
        const streamed = await curl(
          directory,
          ...["-fT", "here.bin", "-H", "Transfer-Encoding: chunked", await uploadLink(files, "b.bin")],
        );
        assert.equal(streamed.code, 0, streamed.text);
        assert.deepEqual(Deno.readFileSync(`${files.root}/b.bin`), content);

        const broken = await uploadLink(files, "c.bin");
        await curl(directory, "-fT", "here.bin", "--limit-rate", "4M", "-m", "1", broken); // which gives up
        await until("it has ended", () => files.server.stderr().includes('"outcome":"hung_up"'));
        assert.equal((await curl(directory, "-fT", "here.bin", "-C", "4000000", broken)).code, 22);
        const again = await curl(directory, "-fT", "here.bin", broken);
        assert.deepEqual([again.code, JSON.parse(again.text).size_bytes], [0, content.length], again.text);
        assert.deepEqual(Deno.readFileSync(`${files.root}/c.bin`), content);

        const url = await downloadLink(files, "Übersicht.bin");
        assert.equal((await curl(directory, "-fO", url)).code, 0);
        assert.deepEqual(Deno.readFileSync(`${directory}/_bersicht.bin`), content);
        await until("the link is used up", async () => (await ask(url)).status === 404);
        assert.equal((await curl(directory, "-f", url)).code, 22); // curl's word for an HTTP error

        const named = await curl(directory, "-fOJ", await downloadLink(files, "b.bin"));
        assert.equal(named.code, 0, named.text);
        assert.deepEqual(Deno.readFileSync(`${directory}/b.bin`), content);
      } finally {
        await Deno.remove(directory, { recursive: true });
      }
    }),
});
