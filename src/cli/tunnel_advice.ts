/** How clients in the cloud reach a server on a machine without an open port, by the tunnels that are installed here. */

const tunnels = [
  {
    program: "tailscale",
    needs: "Funnel allowed for this machine in the tailnet's policy (the command prints a link for that)",
    lines: (port: number) => [`tailscale funnel --bg ${port}`],
    address: "https://MACHINE.TAILNET.ts.net (the command prints it)",
  },
  {
    program: "cloudflared",
    needs: "a domain at Cloudflare (a quick tunnel without one gets another address at each start)",
    lines: (port: number) => [
      "cloudflared tunnel login",
      "cloudflared tunnel create portcullis",
      "cloudflared tunnel route dns portcullis mcp.example.com",
      `cloudflared tunnel run --url http://127.0.0.1:${port} portcullis`,
    ],
    address: "https://mcp.example.com",
  },
];

/** Lines for the terminal: the tunnels whose program `has` finds, or all of them, then the settings. */
export function tunnelAdvice(port: number, has: (program: string) => boolean): readonly string[] {
  const here = tunnels.filter(({ program }) => has(program));
  const shown = here.length > 0 ? here : tunnels;
  return [
    "",
    "On a machine with a public address and a DNS name, set PUBLIC_DOMAIN to the name.",
    ...here.length > 0
      ? ["Elsewhere, a tunnel that is installed here leads to this server:"]
      : ["Elsewhere a tunnel leads to this server; neither tailscale nor cloudflared is installed here. Install one:"],
    ...shown.flatMap(({ program, needs, lines, address }) => [
      "",
      `${program}, with ${needs}:`,
      ...lines(port).map((line) => `  ${line}`),
      `  then SERVER_URL=${address}`,
    ]),
    "",
    "Set that SERVER_URL, TRUST_PROXY=1 and REGISTRATION=off, start the server again, and look with `portcullis doctor`.",
  ];
}
