/**
 * What the MCP registry takes as server.json (server.schema.json of 2025-12-11, and the rules of its validator that the
 * schema lacks: internal/validators/registries), as far as our entry goes: each object has these fields and no others,
 * so that a misspelt one is found before the registry is asked.
 */
import { z } from "zod";

const input = {
  description: z.string().optional(),
  isRequired: z.boolean().optional(),
  format: z.enum(["string", "number", "boolean", "filepath"]).optional(),
  value: z.string().optional(),
  isSecret: z.boolean().optional(),
  default: z.string().optional(),
  placeholder: z.string().optional(),
  choices: z.array(z.string()).optional(),
};
const inputWithVariables = { ...input, variables: z.record(z.string(), z.strictObject(input)).optional() };
const positional = z.strictObject({
  ...inputWithVariables,
  type: z.literal("positional"),
  valueHint: z.string().optional(),
  isRepeated: z.boolean().optional(),
}).refine(({ value, valueHint }) => value !== undefined || valueHint !== undefined, "needs a value or a valueHint");
const named = z.strictObject({
  ...inputWithVariables,
  type: z.literal("named"),
  name: z.string(),
  isRepeated: z.boolean().optional(),
});
const argument = z.union([positional, named]);

/** A version, and no range of versions. */
const version = z.string().min(1).max(255).regex(/^\d+\.\d+\.\d+(-[\w.]+)?$/);
/** Images and bundles name their version in the identifier, and the validator refuses a field for it; npm packages need one. */
const packaged = z.strictObject({
  registryType: z.enum(["npm", "oci", "mcpb"]),
  identifier: z.string(),
  version: version.optional(),
  fileSha256: z.string().regex(/^[a-f0-9]{64}$/).optional(),
  runtimeHint: z.string().optional(),
  transport: z.strictObject({ type: z.literal("stdio") }),
  runtimeArguments: z.array(argument).optional(),
  packageArguments: z.array(argument).optional(),
})
  .refine(({ registryType, fileSha256 }) => registryType !== "mcpb" || fileSha256 !== undefined, "needs a digest")
  .refine(({ registryType, fileSha256 }) => registryType === "mcpb" || fileSha256 === undefined, "takes no digest")
  .refine((each) => (each.registryType === "npm") === (each.version !== undefined), "needs a version exactly for npm")
  .refine(
    ({ registryType, identifier }) =>
      registryType !== "mcpb" || /^https:\/\/github\.com\/[^/]+\/[^/]+\/releases\/download\/.+mcp/.test(identifier),
    "needs the address of a release's file",
  )
  .refine((each) => each.runtimeArguments === undefined || each.runtimeHint !== undefined, "needs a runtimeHint")
  .refine(
    ({ registryType, identifier }) => registryType !== "oci" || /^[^A-Z]+:[\w.-]+$/.test(identifier),
    "needs a tag",
  );

/** The whole entry. */
export const registryEntrySchema = z.strictObject({
  $schema: z.literal("https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"),
  name: z.string().min(3).max(200).regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100).optional(),
  description: z.string().min(1).max(100),
  version,
  repository: z.strictObject({
    url: z.url(),
    source: z.literal("github"),
    id: z.string().optional(),
    subfolder: z.string().optional(),
  }).optional(),
  packages: z.array(packaged),
});
