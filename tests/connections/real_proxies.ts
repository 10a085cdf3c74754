/** Real proxies in front of a server, whose configuration a test changes while they run. */
import { freePort } from "../fixtures/free_port.ts";
import { until } from "../fixtures/until.ts";

export interface RealProxy extends AsyncDisposable {
  readonly url: string;
  /** Resolves once requests are answered by this configuration. */
  configure(directives: string): Promise<void>;
}

/** `directives` are those of its `server`. */
export async function startNginx(port = freePort()): Promise<RealProxy> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-nginx-" });
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${directory}/${name};`).join(" ");
  const file = `${directory}/nginx.conf`;
  const url = `http://127.0.0.1:${port}`;
  let nginx: Deno.ChildProcess | null = null;
  const stop = async (): Promise<void> => {
    nginx?.kill("SIGTERM");
    await nginx?.status;
    nginx = null;
  };
  return {
    url,
    async configure(directives) {
      await stop(); // on a reload, its old processes would still take requests
      await Deno.writeTextFile(
        file,
        `daemon off; pid ${directory}/pid; error_log ${directory}/errors;\nevents { worker_connections 200; }\n` +
          `http { access_log off; keepalive_timeout 0; ${temporary}\nserver {\nlisten 127.0.0.1:${port};\n` +
          `location = /mark { return 200; }\n${directives}\n} }\n`,
      );
      nginx = new Deno.Command("nginx", { args: ["-p", directory, "-c", file], stderr: "null" }).spawn();
      await until(`nginx with ${directives}`, () => fetch(`${url}/mark`).then(({ ok }) => ok, () => false));
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** `directives` are those of its site. */
export async function startCaddy(port = freePort()): Promise<RealProxy> {
  const directory = await Deno.makeTempDir({ prefix: "portcullis-caddy-" });
  const admin = `127.0.0.1:${freePort()}`;
  const url = `http://127.0.0.1:${port}`;
  let mark = 0;
  const textOf = (directives: string): string =>
    `{\nadmin ${admin}\nauto_https off\ngrace_period 1s\n}\nhttp://127.0.0.1:${port} {\nrespond /mark "${mark}"\n${directives}\n}\n`;
  const file = `${directory}/Caddyfile`;
  await Deno.writeTextFile(file, textOf(""));
  const caddy = new Deno.Command("caddy", {
    args: ["run", "--config", file],
    env: { HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory },
    stdout: "null",
    stderr: "null",
  }).spawn();
  const isThere = async (): Promise<boolean> => {
    const answer = await fetch(`${url}/mark`).catch(() => null);
    return await answer?.text() === String(mark);
  };
  await until("Caddy", isThere);
  return {
    url,
    async configure(directives) {
      mark += 1;
      const headers = { "content-type": "text/caddyfile" };
      const loaded = await fetch(`http://${admin}/load`, { method: "POST", headers, body: textOf(directives) });
      if (!loaded.ok) throw new Error(await loaded.text());
      await loaded.body?.cancel();
      await until(`Caddy to take ${directives}`, isThere);
    },
    async [Symbol.asyncDispose]() {
      caddy.kill("SIGTERM");
      await caddy.status;
      await Deno.remove(directory, { recursive: true });
    },
  };
}
