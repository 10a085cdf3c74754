/** Whether the environment names a proxy that Deno's fetch uses for loopback addresses too. */
export function environmentHasProxy(variable: (name: string) => string | undefined): boolean {
  return ["http_proxy", "https_proxy", "all_proxy"].some((name) =>
    Boolean(variable(name)) || Boolean(variable(name.toUpperCase()))
  );
}
