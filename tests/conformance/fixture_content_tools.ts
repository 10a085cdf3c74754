/** Fixtures that answer every kind of content, log, report progress, and let go of their connection. */
import { z } from "zod";
import { pause } from "../../src/lib/time.ts";
import { defineTool, type Tool } from "../../src/mcp/tool.ts";
import { pngBase64, wavBase64 } from "./fixture_media.ts";
import { content, fixture, fixtureWith, text } from "./fixture_tool.ts";

/** The tools, in the order in which they are listed. */
export const contentTools: readonly Tool[] = [
  fixture("test_simple_text", () => text("This is a simple text response for testing.")),
  fixture("test_image_content", () => content({ type: "image", data: pngBase64, mimeType: "image/png" })),
  fixture("test_audio_content", () => content({ type: "audio", data: wavBase64, mimeType: "audio/wav" })),
  fixture("test_embedded_resource", () =>
    content({
      type: "resource",
      resource: { uri: "test://embedded-resource", mimeType: "text/plain", text: "This is an embedded resource." },
    })),
  fixture("test_multiple_content_types", () =>
    content(
      { type: "text", text: "Multiple content types test:" },
      { type: "image", data: pngBase64, mimeType: "image/png" },
      {
        type: "resource",
        resource: { uri: "test://mixed-content-resource", mimeType: "application/json", text: '{"test":"data"}' },
      },
    )),
  fixture("test_tool_with_logging", async (context) => {
    for (const step of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      context.log("info", step);
      await pause(50);
    }
    return text("Tool with logging executed");
  }),
  fixture("test_logging_tool", (context) => {
    context.log("info", "This is for those who asked for it");
    return text("Logged where it was asked for");
  }),
  fixture("test_tool_with_progress", async (context) => {
    for (const progress of [0, 50, 100]) {
      context.progress({ progress, total: 100 });
      await pause(50);
    }
    return text("Progress reported");
  }),
  fixture("test_error_handling", () => ({
    ok: false,
    code: "intended",
    message: "This tool intentionally returns an error for testing",
  })),
  fixture("test_reconnection", async (context) => {
    context.release();
    await pause(100);
    return text("Reconnection test completed");
  }),
  fixtureWith(
    "test_x_mcp_header",
    z.object({
      region: z.string().optional().describe("Where").meta({ "x-mcp-header": "Region" }),
      level: z.int().optional().describe("How much").meta({ "x-mcp-header": "Level" }),
    }),
    ({ region, level }) => text(`region ${region ?? "none"}, level ${level ?? "none"}`),
  ),
  defineTool({
    name: "json_schema_2020_12_tool",
    title: "JSON Schema 2020-12",
    description: "Conformance fixture: a tool whose input schema uses JSON Schema 2020-12.",
    scopes: [],
    annotations: { readOnlyHint: true },
    input: z.looseObject({}),
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          $anchor: "addressDef",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } },
        },
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" },
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false,
    },
    run: () => text("JSON Schema 2020-12 tool called"),
  }),
];
