import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../kernel/clock.ts";
import { declaredLength } from "../body/body.ts";
import type { Exchange } from "./exchanges.ts";
import { clientPace, READ_RESPONSE_MS, SLICE_BYTES, writeAtPace } from "./response-pace.ts";
import type { RouteResponse } from "./route-response.ts";

/** Limits of reading and discarding the rest of a request body: time in milliseconds, and size in bytes. */
const LINGER_MS = 2_000;
const LINGER_BYTES = 64 * 1024 * 1024;

/**
 * Maximum length of a response body that is written at once, in bytes or characters. A longer body is written in
 * slices.
 */
const LONG_BODY = 4 * SLICE_BYTES;

export interface SendOptions {
  readonly clock: Clock;
  /**
   * Maximum declared length of a request body whose unread rest is discarded, so that the connection can be reused. If
   * the body is longer or chunked, the connection is closed.
   */
  readonly bodyLimitBytes: number;
}

/** Writes the response. A client that is still sending its body can read the response, too. */
export function sendResponse(exchange: Exchange, routeResponse: RouteResponse, options: SendOptions): void {
  const { request, response } = exchange;
  if (exchange.isOver) return;
  if (!request.complete && !restIsSmall(exchange, options.bodyLimitBytes))
    sendThenClose(exchange, routeResponse, options.clock);
  else {
    endOfBody(request, options.clock);
    if (routeResponse.body !== undefined && routeResponse.body.length > LONG_BODY) {
      whenOnSocket(exchange, () => void sendLong(exchange, routeResponse, options.clock));
      return;
    }
    response.writeHead(routeResponse.status, headersOf(routeResponse));
    response.end(routeResponse.body);
  }
  cutSlowReader(exchange, options.clock);
}

/**
 * Closes the connection if the client does not read the response in time. A closure in `sendResponse` would keep the
 * body in memory for as long as the client reads, so this is a separate function.
 */
function cutSlowReader(exchange: Exchange, clock: Clock): void {
  const { request, response } = exchange;
  whenOnSocket(exchange, () => {
    // The operating system has the whole response, so a slow client no longer uses memory of the engine.
    if (response.writableEnded && request.socket.writableLength === 0) return;
    exchange.onEnd(clock.after(READ_RESPONSE_MS, () => request.socket.destroy()));
  });
}

/**
 * Discards the rest of a request body after the response, so that the connection can be reused. If the rest does not
 * arrive within `LINGER_MS`, the connection is closed.
 */
export function endOfBody(request: IncomingMessage, clock: Clock): void {
  if (request.complete) return;
  const cancel = clock.after(LINGER_MS, () => request.socket.destroy());
  request.once("close", cancel);
  request.on("error", () => {});
  request.resume();
}

/** Sends a long response in slices, because a slow client cannot read all of it within `READ_RESPONSE_MS`. */
async function sendLong(exchange: Exchange, routeResponse: RouteResponse, clock: Clock): Promise<void> {
  const { request, response } = exchange;
  const given = routeResponse.body ?? "";
  const body = typeof given === "string" ? Buffer.from(given) : given;
  response.writeHead(routeResponse.status, [...routeResponse.headers, "Content-Length", String(body.byteLength)]);
  if (!(await writeAtPace(response, body, clientPace(exchange, clock)))) {
    request.socket.destroy();
    return;
  }
  response.end();
  exchange.onEnd(clock.after(READ_RESPONSE_MS, () => request.socket.destroy()));
}

function headersOf(routeResponse: RouteResponse): string[] {
  const { headers, body } = routeResponse;
  return body === undefined ? headers.slice() : headers.concat("Content-Length", String(Buffer.byteLength(body)));
}

function restIsSmall({ request }: Exchange, limitBytes: number): boolean {
  const length = declaredLength(request);
  return length !== undefined && length <= limitBytes;
}

/**
 * Runs `action` when the response has a socket. A pipelined response gets its socket only after the previous responses
 * are sent. Until then the client cannot read it, so no time limit runs.
 */
function whenOnSocket({ response }: Exchange, action: () => void): void {
  if (response.socket !== null) action();
  else response.once("socket", action);
}

/**
 * Sends the response, then closes the connection. If a socket is closed while the client still sends, the operating
 * system resets the connection and the client may lose the response. So the whole response is sent first. Then the rest
 * of the body is read and discarded, up to the limits, and only then the connection is closed.
 */
function sendThenClose(exchange: Exchange, routeResponse: RouteResponse, clock: Clock): void {
  const { request, response } = exchange;
  let discarded = 0;
  const cancelLinger = clock.after(LINGER_MS, end);
  function end(): void {
    cancelLinger();
    request.off("data", onData).off("end", end);
    if (!response.writableEnded) response.end();
  }
  function onData(chunk: Buffer): void {
    discarded += chunk.byteLength;
    if (discarded > LINGER_BYTES) end();
  }
  exchange.onEnd(end);
  request.on("error", () => {});
  response.writeHead(routeResponse.status, [...headersOf(routeResponse), "Connection", "close"]);
  if (routeResponse.body === undefined || routeResponse.body === "" || request.method === "HEAD")
    response.flushHeaders();
  else response.write(routeResponse.body);
  request.on("data", onData).on("end", end);
  // Code that read only a part of the body may have paused the request.
  request.resume();
}
