/** The base binaries that `deno compile` makes programs of, checked and put where Deno keeps those that it downloads. */
import { dirname, join } from "node:path";
import process from "node:process";
import { downloadChecked, readPins } from "./pins.ts";

/** Downloads what is not there yet for these targets. Throws where a checksum differs from the pinned one. */
export async function downloadBaseBinaries(targets: readonly string[]): Promise<void> {
  if (process.env["DENORT_BIN"]) return; // Deno takes that one
  const { downloads } = await readPins();
  const denoDir = await denoDirectory();
  for (const target of targets) {
    const name = `denort-${target}.zip`;
    const pin = downloads[name];
    if (pin === undefined) throw new Error(`${name} is not in scripts/release/pins.json`);
    const place = join(denoDir, "dl", new URL(pin.url).pathname); // .../release/vVERSION/NAME, as on the host
    await downloadChecked(name, pin, dirname(place));
  }
}

/** Of the Deno that compiles. */
async function denoDirectory(): Promise<string> {
  const args = ["info", "--json"];
  const { stdout } = await new Deno.Command(process.env["COMPILE_DENO"] || Deno.execPath(), { args }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}
