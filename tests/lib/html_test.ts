import assert from "node:assert/strict";
import fc from "fast-check";
import { html } from "../../src/lib/page.ts";

Deno.test("html`` escapes whatever is interpolated, in elements and in quoted attributes", () => {
  const hostile = `<script>alert("x")</script>'&\``;
  const page = html`<a title="${hostile}">${hostile}</a>`.markup;
  assert.equal(page.match(/[<>]/g)?.join(""), "<><>");
  assert.ok(!/title="[^"]*"[^>]*"/.test(page));
});

Deno.test("html`` prints nothing for null, undefined and false, and joins lists", () => {
  assert.equal(html`${null}${undefined}${false}${[1, "b", html`<i>c</i>`]}`.markup, "1b<i>c</i>");
});

Deno.test("an object shaped like HTML is not taken for HTML", () => {
  const forged = { markup: "<script>" };
  assert.equal(html`${forged}`.markup.includes("<script>"), false);
});

Deno.test("no text leaves an attribute or an element (property)", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    const markup = html`<p class="${text}">${text}</p>`.markup;
    assert.equal(markup.match(/[<>"]/g)?.length, 6);
  }));
});
