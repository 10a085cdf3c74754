/** A network between a client and a port on this machine, which can fail without a word. */

/** A forwarding listener. */
export interface Network extends AsyncDisposable {
  readonly port: number;
  /** From now on, bytes on the connections there are go nowhere, in both directions; no connection ends. */
  readonly swallow: () => void;
  /** Ends the connections that there are, wherever in a conversation they may be. New ones work. */
  readonly cut: () => void;
  /** New connections work again. */
  readonly heal: () => void;
}

/** Starts one on a free loopback port. */
export function startNetwork(target: number): Network {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections: Deno.Conn[] = [];
  const forwarding: Promise<void>[] = [];
  let swallowing = false;

  const forward = async (from: Deno.Conn, to: Deno.Conn, state: { dead: boolean }): Promise<void> => {
    const buffer = new Uint8Array(65_536);
    try {
      for (let count = await from.read(buffer); count !== null; count = await from.read(buffer)) {
        state.dead ||= swallowing;
        for (let sent = 0; sent < count && !state.dead;) sent += await to.write(buffer.subarray(sent, count));
      }
      if (!state.dead) to.close();
    } catch {
      // one of the two was closed
    }
  };
  const accept = async (): Promise<void> => {
    for await (const client of listener) {
      const server = await Deno.connect({ hostname: "127.0.0.1", port: target }).catch(() => null);
      if (server === null) {
        client.close(); // nobody is there: refused, as far as a network can
        continue;
      }
      const state = { dead: false };
      connections.push(client, server);
      forwarding.push(forward(client, server, state), forward(server, client, state));
    }
  };
  const accepting = accept();

  const closeAll = (): void => {
    for (const connection of connections.splice(0)) {
      try {
        connection.close();
      } catch {
        // closed already
      }
    }
  };

  return {
    port: listener.addr.port,
    cut: closeAll,
    swallow: () => void (swallowing = true),
    heal: () => void (swallowing = false),
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      closeAll();
      await Promise.all(forwarding);
    },
  };
}
