import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll } from "vitest";

/** Starts an HTTP server for the tests of a file. It answers with the method, the address and the body of each request. Returns how to get its base URL. */
export function echoServer(): () => string {
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () =>
      response.end(Buffer.concat([Buffer.from(`${request.method} ${request.url}\n`), ...chunks])),
    );
  });
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
  afterAll(() => server.close());
  return () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
