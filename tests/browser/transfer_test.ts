/** What a browser does with links: it saves the file, whatever is in it, and runs nothing of it. */
import assert from "node:assert/strict";
import { withFileServer } from "../fixtures/file_server.ts";
import { until } from "../fixtures/until.ts";
import { downloadLink, uploadLink } from "../transfer/links.ts";
import { chromiumTest } from "./chromium.ts";

const script = `document.title = "ran"; localStorage.setItem("ran", "1"); fetch("/ran");`;
const active: Readonly<Record<string, string>> = {
  "page.html": `<!doctype html><script>${script}</script><img src=x onerror='${script}'>`,
  "picture.svg": `<svg xmlns="http://www.w3.org/2000/svg" onload='${script}'><script>${script}</script></svg>`,
  "page.xhtml": `<html xmlns="http://www.w3.org/1999/xhtml"><script>${script}</script></html>`,
  "data.xml": `<?xml version="1.0"?><?xml-stylesheet href="x.xsl"?><a/>`,
  "paper.pdf": "%PDF-1.4\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj",
  "code.js": script,
  "words.txt": "<script>alert(1)</script>",
};

chromiumTest(
  "Chromium saves what a link gives, shows and runs none of it, and pages of other origins may fetch it",
  (browser) =>
    withFileServer({
      fill(root) {
        for (const [name, text] of Object.entries(active)) Deno.writeTextFileSync(`${root}/${name}`, text);
      },
    }, async (files) => {
      await using listener = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () =>
        new Response("<!doctype html><title>other</title>", { headers: { "content-type": "text/html" } }));
      const otherOrigin = `http://127.0.0.1:${listener.addr.port}/`;
      const page = await browser.newPage({ acceptDownloads: true });
      const asked: string[] = [];
      page.on("request", (request) =>
        asked.push(new URL(request.url()).pathname));
      for (const [name, text] of Object.entries(active)) {
        const url = await downloadLink(files, name);
        const downloading = page.waitForEvent("download");
        await page.goto(url).catch(() => null); // a navigation that becomes a download ends so
        const download = await downloading;
        assert.equal(download.suggestedFilename(), name);
        assert.equal(Deno.readTextFileSync(await download.path()), text);
        assert.equal(page.url(), "about:blank");
      }
      assert.ok(!asked.includes("/ran"));

      await page.goto(otherOrigin);
      for (
        const [tag, attribute] of [["img", "src"], ["script", "src"], ["iframe", "src"], ["object", "data"]] as const
      ) {
        const url = await downloadLink(files, tag === "script" ? "code.js" : "picture.svg");
        await page.evaluate(({ tag, attribute, url }) => {
          const { document } = globalThis as unknown as {
            document: { createElement(tag: string): unknown; body: unknown };
          };
          const element = document.createElement(tag) as { setAttribute(name: string, value: string): void };
          element.setAttribute(attribute, url);
          (document.body as { append(child: unknown): void }).append(element);
        }, { tag, attribute, url });
        await until(`${tag} asks for it`, () => asked.includes(new URL(url).pathname));
      }
      assert.equal(await page.title(), "other");
      assert.ok(!asked.includes("/ran"));

      const links = { from: await downloadLink(files, "words.txt"), to: await uploadLink(files, "copy.txt") };
      const status = await page.evaluate(async ({ from, to }) => {
        const got = await fetch(from);
        const put = await fetch(to, { method: "PUT", body: await got.arrayBuffer() });
        return [got.status, put.status];
      }, links);
      assert.deepEqual(status, [200, 201]);
      assert.equal(Deno.readTextFileSync(`${files.root}/copy.txt`), active["words.txt"]);
      assert.deepEqual(await page.context().cookies(), []);
    }),
);
