/** Requests to a server by the name of its certificate, which no DNS knows here. */
import { Buffer } from "node:buffer";
import { type RequestOptions } from "node:https";
import https from "node:https";

/**
 * Asks the server by its name, on a new connection each time; rejects where its certificate is not valid at this moment
 * (Deno says "unable to verify the first certificate" of an expired one too), unless the person goes on all the same.
 */
export function asking(name: string, ca: string, port: number, visit = { goesOnAnyway: false }) {
  return (url: URL, init: RequestInit): Promise<Response> =>
    new Promise((resolve, reject) => {
      const options: RequestOptions = {
        ...{ host: "127.0.0.1", port, servername: name, ca, agent: false, path: `${url.pathname}${url.search}` },
        rejectUnauthorized: !visit.goesOnAnyway,
        method: init.method ?? "GET",
        headers: { ...Object.fromEntries(new Headers(init.headers)), host: name },
      };
      const request = https.request(options, (response) => {
        const chunks: Uint8Array[] = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const headers = new Headers();
          for (let at = 0; at < response.rawHeaders.length; at += 2) {
            headers.append(response.rawHeaders[at] ?? "", response.rawHeaders[at + 1] ?? "");
          }
          const { statusCode: status = 0 } = response;
          const hasBody = status !== 204 && status !== 304;
          resolve(new Response(hasBody ? Buffer.concat(chunks) : null, { status, headers }));
        });
      });
      request.on("error", reject);
      if (init.body instanceof ReadableStream) {
        void (async () => {
          for await (const chunk of init.body as unknown as AsyncIterable<Uint8Array>) request.write(chunk);
          request.end();
        })();
      } else {
        request.end(init.body === undefined || init.body === null ? undefined : String(init.body));
      }
    });
}
