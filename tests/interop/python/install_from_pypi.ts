/** Packages from PyPI at exact versions, in an environment of their own. */
import { ClientNotInstalled } from "../client_not_installed.ts";

const installSeconds = 200;

/** Installs them; gives the Python that has them. */
export async function installFromPypi(stack: AsyncDisposableStack, packages: readonly string[]): Promise<string> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-python-" });
  stack.defer(() => Deno.remove(directory, { recursive: true }));
  const run = async (program: string, args: readonly string[]): Promise<void> => {
    const command = new Deno.Command("timeout", {
      args: [String(installSeconds), program, ...args],
      stdout: "null",
      stderr: "piped",
    });
    const { success, stderr } = await command.output();
    if (success) return;
    const reason = new TextDecoder().decode(stderr).trim().split("\n").at(-1);
    throw new ClientNotInstalled(`pip install ${packages.join(" ")}: ${reason}`);
  };
  await run("python3", ["-m", "venv", directory]);
  await run(`${directory}/bin/pip`, ["install", "--quiet", "--retries", "1", ...packages]);
  return `${directory}/bin/python`;
}
