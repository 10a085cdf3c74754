import assert from "node:assert/strict";
import { z } from "zod";
import { serviceNowProfile } from "../../src/mcp/revision.ts";
import { defineTool } from "../../src/mcp/tool.ts";
import { createToolRegistry, toObjectSchema } from "../../src/mcp/registry.ts";
import { createHarness, rpc, toolCall } from "./harness.ts";

const another = defineTool({
  name: "another",
  title: "Another",
  description: "Comes and goes.",
  scopes: [],
  annotations: {},
  input: z.object({}),
  run: () => ({ ok: true, content: [] }),
});

type Listing = { tools: Record<string, unknown>[]; nextCursor?: string };

async function list(
  post: ReturnType<typeof createHarness>["post"],
  params?: unknown,
  version = "2025-06-18",
): Promise<Listing> {
  const response = await post(rpc("tools/list", params), { "mcp-protocol-version": version });
  assert.equal(response.status, 200);
  return (await response.json()).result;
}

Deno.test("tools/list shows each tool as its revision has it", async () => {
  const { post } = createHarness();
  for (const params of [undefined, {}, null, { cursor: "" }]) {
    const { tools, nextCursor } = await list(post, params);
    assert.equal(nextCursor, undefined);
    assert.deepEqual(tools.map(({ name }) => name), ["echo", "measure", "store", "crash", "break_promise", "wait"]);
    assert.deepEqual(tools[1], {
      name: "measure",
      title: "Measure",
      description: "Counts the characters of a text.",
      inputSchema: {
        type: "object",
        properties: { text: { type: "string", description: "What to measure" } },
        required: ["text"],
        additionalProperties: false,
      },
      outputSchema: {
        type: "object",
        properties: {
          length: { type: "integer", description: "Characters" },
        },
        required: ["length"],
      },
      annotations: { title: "Measure", readOnlyHint: true },
    });
    assert.deepEqual(tools[0]?.["inputSchema"], {
      type: "object",
      properties: {
        text: { type: "string", description: "What to say" },
        times: { type: "integer", default: 1, description: "How often" },
      },
      required: ["text"],
      additionalProperties: false,
    });
  }
  const oldest = (await list(post, {}, "2025-03-26")).tools[1] ?? assert.fail();
  assert.deepEqual(Object.keys(oldest), ["name", "description", "inputSchema", "annotations"]);
});

Deno.test("tools/list pages by sealed cursors and refuses any other with -32602", async () => {
  const { post, tools } = createHarness({ limits: { pageSize: 4 } });
  const first = await list(post);
  assert.equal(first.tools.length, 4);
  const second = await list(post, { cursor: first.nextCursor });
  assert.deepEqual(second.tools.map(({ name }) => name), ["break_promise", "wait"]);
  assert.equal(second.nextCursor, undefined);
  for (const cursor of ["crash", 4, `${first.nextCursor}x`]) {
    const { error } = await (await post(rpc("tools/list", { cursor }))).json();
    assert.deepEqual(error, { code: -32602, message: "Invalid cursor: leave it out to begin with the first page" });
  }
  tools.remove("crash"); // the tool that the cursor stands behind
  assert.equal((await (await post(rpc("tools/list", { cursor: first.nextCursor }))).json()).error.code, -32602);
});

Deno.test("tools/list gives ServiceNow an empty cursor at the end", async () => {
  const { post } = createHarness({ profileOf: () => serviceNowProfile });
  assert.equal((await list(post)).nextCursor, "");
});

Deno.test("the schemas of the server's own tools are made when they are first asked for, those of others at once", async () => {
  let made = 0;
  const counted = {
    ...another,
    get inputSchema() {
      made++;
      return { type: "object" } as const;
    },
  };
  const { post } = createHarness({ tools: createToolRegistry([counted], new Set([counted])) });
  assert.equal(made, 0);
  assert.equal((await list(post)).tools.at(-1)?.["name"], "another");
  const afterFirst = made;
  assert.ok(afterFirst > 0);
  await list(post);
  assert.equal(made, afterFirst);

  const unusable = { ...another, input: z.string() };
  assert.throws(() => createToolRegistry([unusable]), /must be an object/);
});

Deno.test("tools/list follows the registry while the server runs", async () => {
  const { post, tools } = createHarness();
  let changes = 0;
  const stop = tools.onChange(() => changes++);
  const before = (await list(post)).tools.length;
  tools.add(another);
  assert.equal((await list(post)).tools.at(-1)?.["name"], "another");
  assert.throws(() => tools.add(another), /already registered/);
  assert.equal(tools.remove("another"), true);
  assert.equal(tools.remove("another"), false);
  assert.equal((await list(post)).tools.length, before);
  assert.equal(changes, 2);
  stop();
  tools.add(another);
  assert.equal(changes, 2);
});

Deno.test("tools/list leaves out bounds and unlisted parameters, which calls have all the same", async () => {
  const { post, tools } = createHarness();
  tools.add(defineTool({
    ...another,
    name: "brief",
    input: z.object({
      open: z.boolean().default(false).describe("Listed"),
      size: z.int().min(1).max(3).default(2).describe("Listed"),
      secret: z.string().optional().meta({ unlisted: true }),
      options: z.strictObject({ depth: z.int().max(9).optional().meta({ unlisted: true }) }).optional(),
    }),
    run: (input) => ({ ok: true, content: [{ type: "text", text: JSON.stringify(input) }] }),
  }));
  const listed = (await list(post)).tools.find(({ name }) => name === "brief") ?? assert.fail();
  assert.deepEqual(listed["inputSchema"], {
    type: "object",
    properties: {
      open: { type: "boolean", description: "Listed" },
      size: { type: "integer", default: 2, description: "Listed" },
      options: { type: "object" },
    },
    additionalProperties: false,
  });
  const call = async (input: Record<string, unknown>) => {
    const { result, error } = await (await post(toolCall("brief", input))).json();
    return error?.message ?? result.content[0].text;
  };
  assert.equal(
    await call({ secret: "a", options: { depth: "9" } }),
    '{"open":false,"size":2,"secret":"a","options":{"depth":9}}',
  );
  assert.match(await call({ size: 4 }), /size must be at most 3/);
  for (
    const [members, closed] of [[z.object({}), false], [z.strictObject({}), false], [z.looseObject({}), undefined]]
  ) {
    tools.add(
      defineTool({ ...another, name: "open", input: members as z.ZodType, run: () => ({ ok: true, content: [] }) }),
    );
    const { inputSchema } = (await list(post)).tools.find(({ name }) => name === "open") ?? assert.fail();
    assert.deepEqual(inputSchema, {
      ...{ type: "object", properties: {}, ...closed === undefined ? {} : { additionalProperties: closed } },
    });
    tools.remove("open");
  }
  assert.match(await call({ options: { width: 1 } }), /width/);
  assert.match(await call({ secrt: "a" }), /did you mean secret\?/);
});

Deno.test("a tool's schema is closed only where zod's is, and must be an object that clients keep", () => {
  assert.equal(toObjectSchema(z.strictObject({}), "input")["additionalProperties"], false);
  assert.equal(toObjectSchema(z.strictObject({}), "output")["additionalProperties"], false);
  const nested = toObjectSchema(z.object({ inner: z.object({ a: z.string() }) }), "output");
  assert.ok(!JSON.stringify(nested).includes("additionalProperties"));
  assert.ok(!JSON.stringify(nested).includes("$schema"));
  assert.throws(() => toObjectSchema(z.string(), "input"), /must be an object/);
  assert.throws(() => toObjectSchema(z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), "input"));
});

Deno.test("a tool's input is described without the keywords that Gemini refuses, with the same meaning", () => {
  const schema = toObjectSchema(
    z.object({ either: z.union([z.literal("json"), z.record(z.string(), z.unknown())]) }),
    "input",
  );
  assert.deepEqual(schema["properties"], {
    either: { anyOf: [{ type: "string", enum: ["json"] }, { type: "object", additionalProperties: {} }] },
  });
});
