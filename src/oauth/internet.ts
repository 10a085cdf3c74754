/** The real network for the document fetcher: the system's resolver, and TLS over a pinned TCP connection. */
import type { TLSSocket } from "node:tls";
import { parseIpAddress } from "../lib/ip_address.ts";
import type { ConnectTarget, Network, SecureConnection } from "./public_document.ts";

/** Connects as the machine does. `authorities` (PEM) take the place of the certificate authorities that it trusts. */
export function createInternet(authorities?: string): Network {
  return {
    async resolve(host) {
      const { lookup } = await import("node:dns/promises"); // here, since few starts ever ask
      return (await lookup(host, { all: true })).map(({ address }) => address);
    },
    connectTls: (target) => connectTls(target, authorities),
  };
}

async function connectTls(
  { address, port, host, signal }: ConnectTarget,
  authorities: string | undefined,
): Promise<SecureConnection> {
  // `Deno.startTls` keeps the descriptor of a handshake that fails or hangs until the other end closes it;
  // `destroy` of a Node socket does not. Loaded here, since the main thread seldom needs it.
  const { connect } = await import("node:tls");
  signal.throwIfAborted();
  const socket = connect({
    host: address,
    port,
    servername: host,
    ALPNProtocols: ["http/1.1"],
    ...(authorities === undefined ? {} : { ca: authorities }),
  });
  const destroy = (): void => void socket.destroy();
  signal.addEventListener("abort", destroy, { once: true });
  try {
    await untilSecure(socket);
    // The address that counts is the one at the other end.
    if (!isSameAddress(socket.remoteAddress ?? "", address)) throw new Error("Connected to another address");
    return toConnection(socket);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", destroy);
  }
}

function untilSecure(socket: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("secureConnect", resolve);
    socket.on("error", reject); // stays: an error without a listener would end the process
    socket.once("close", () => reject(new Error("The connection was closed")));
  });
}

function toConnection(socket: TLSSocket): SecureConnection {
  const chunks = socket[Symbol.asyncIterator]();
  return {
    async read() {
      const { done, value } = await chunks.next();
      return done ? null : value;
    },
    write: (bytes) =>
      new Promise((resolve, reject) => void socket.write(bytes, (error) => error ? reject(error) : resolve())),
    close: () => void socket.destroy(),
  };
}

function isSameAddress(left: string, right: string): boolean {
  const number = parseIpAddress(left)?.number;
  return number !== undefined && number === parseIpAddress(right)?.number;
}
