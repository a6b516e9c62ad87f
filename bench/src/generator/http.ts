import { ID_BYTES } from "../frame-template.ts";
import { ClosedLoop } from "./closed-loop.ts";
import { HttpConnection } from "./http-client.ts";
import type { HttpLoad, Window } from "./load.ts";
import { Peer } from "./peer.ts";
import { resultTemplate } from "./wire-frames.ts";

const HANDLER = "bench::http";
const REQUEST_BODY = JSON.stringify({ a: 100, b: 200 });
const RESPONSE_BODY = JSON.stringify({ c: 300 });

/**
 * Makes requests in a closed loop: for a static response, or requests that a trigger turns into calls of this process.
 */
export async function runHttp(load: HttpLoad): Promise<Window> {
  const connections: HttpConnection[] = [];
  let handler: Peer | undefined;
  try {
    const requests =
      load.calls === undefined
        ? [getRequest(load.port)]
        : routePaths(load.calls.routes).map((path) => postRequest(load.port, path));
    let nextRequest = 0;
    const loop = new ClosedLoop(load, load.concurrency, (slot) => {
      (connections[slot] as HttpConnection).write(requests[nextRequest++ % requests.length] as Buffer);
    });
    const onLost = (error: Error): void => loop.fail(error);
    if (load.calls !== undefined) handler = await connectHandler(load.calls.bridgePort, load.calls.routes, onLost);
    for (let slot = 0; slot < load.concurrency; slot++) {
      const connection = await HttpConnection.open(load.port, {
        onResponse({ status, body }) {
          const asExpected =
            status === 200 &&
            (load.calls === undefined || (body.length === RESPONSE_BODY.length && body.toString() === RESPONSE_BODY));
          if (!asExpected) throw new Error(`unexpected HTTP answer: ${status} ${body.toString().slice(0, 400)}`);
          loop.answered(slot);
        },
        onLost,
      });
      connections.push(connection);
    }
    loop.start();
    return await loop.window;
  } finally {
    for (const connection of connections) connection.close();
    handler?.close();
  }
}

function routePaths(routes: number): string[] {
  return Array.from({ length: routes }, (_, index) => `/bench/route-${String(index).padStart(4, "0")}`);
}

function getRequest(port: number): Buffer {
  return Buffer.from(`GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: application/json\r\n\r\n`);
}

function postRequest(port: number, path: string): Buffer {
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: application/json\r\nContent-Type: application/json\r\nContent-Length: ${REQUEST_BODY.length}\r\n\r\n${REQUEST_BODY}`,
  );
}

/** Connects a worker with one function and its HTTP triggers. Resolves when every trigger is active. */
async function connectHandler(bridgePort: number, routes: number, onLost: (error: Error) => void): Promise<Peer> {
  const answer = resultTemplate(
    HANDLER,
    `{"status_code":200,"body":${RESPONSE_BODY},"headers":{"Content-Type":"application/json"}}`,
  );
  const handler: Peer = await Peer.connect(bridgePort, "bench-http-handler", {
    onInvocation: (frame, idAt) => handler.queue(answer.withId(frame.subarray(idAt, idAt + ID_BYTES))),
    onLost,
  });
  handler.send({ type: "registerfunction", id: HANDLER });
  const outstanding = new Set<string>();
  routePaths(routes).forEach((path, index) => {
    const id = `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
    outstanding.add(id);
    handler.send({
      type: "registertrigger",
      id,
      trigger_type: "http",
      function_id: HANDLER,
      config: { api_path: path, http_method: "POST" },
    });
  });
  await handler.awaitControl((message) => {
    if (message.type === "triggerregistrationresult" && message.status === "active")
      outstanding.delete(message.id ?? "");
    return outstanding.size === 0;
  });
  return handler;
}
