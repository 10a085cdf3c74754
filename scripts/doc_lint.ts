/**
 * The documentation gate: every declaration that a part, a port or `mcp/tool.ts` exports has a doc comment, as
 * `deno doc --lint` judges it. Elsewhere a name explains itself or is changed. Left out are members of an interface,
 * types of other modules, and, but for ports and tools, inferred types.
 */
import { existsSync } from "node:fs";
import process from "node:process";

const parts = Array.from(Deno.readDirSync("src"), ({ name }) => `src/${name}`).sort();
const found = (names: readonly string[]) =>
  parts.flatMap((part) => names.map((name) => `${part}/${name}.ts`)).filter((path) => existsSync(path));
const strict = ["src/mcp/tool.ts", ...found(["port"])];
const files = [...strict, ...found(["mod", "later", "mod_settings"])];
const { stderr, code } = await new Deno.Command(Deno.execPath(), {
  args: ["doc", "--lint", ...files],
  env: { NO_COLOR: "1" },
  stdout: "null",
}).output();
const report = new TextDecoder().decode(stderr);
const findings = report.split(/^(?=error\[)/m).filter((block) => block.startsWith("error["));
if (code !== 0 && findings.length === 0) {
  process.stderr.write(report);
  process.exit(1);
}
const kept = findings.filter((finding) => {
  if (finding.startsWith("error[private-type-ref]")) return false;
  if (!finding.startsWith("error[missing-jsdoc]") && !strict.some((path) => finding.includes(path))) return false;
  const isMember = /^\d+ \| {3,}/m.test(finding); // the line that it quotes is indented
  return !(isMember && finding.startsWith("error[missing-jsdoc]"));
});
for (const finding of kept) process.stderr.write(finding);
process.stdout.write(`doc lint: ${files.length} files, ${kept.length} findings\n`);
process.exit(kept.length === 0 ? 0 : 1);
