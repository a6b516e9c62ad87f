import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../kernel/clock.ts";
import { declaredLength } from "../body/body.ts";
import type { Answer } from "./answer.ts";
import { clientPace, READ_ANSWER_MS, SLICE_BYTES, writeAtPace } from "./answer-pace.ts";
import type { Exchange } from "./exchanges.ts";

/** How long the rest of a refused body is read and thrown away, in milliseconds, and how much of it, in bytes. */
const LINGER_MS = 2_000;
const LINGER_BYTES = 64 * 1024 * 1024;

/** A body over this length goes out slice by slice, in bytes (or characters). */
const LONG_BODY = 4 * SLICE_BYTES;

export interface SendOptions {
  readonly clock: Clock;
  /** An unread body up to this length is read away, so that the connection can be used again; a longer one ends it. */
  readonly bodyLimitBytes: number;
}

/** Writes the answer. A body that its client still sends does not keep the client from reading it. */
export function sendAnswer(exchange: Exchange, answer: Answer, options: SendOptions): void {
  const { request, response } = exchange;
  if (exchange.isOver) return;
  if (!request.complete && !restIsSmall(exchange, options.bodyLimitBytes)) sendThenClose(exchange, answer, options.clock);
  else {
    endOfBody(request, options.clock);
    if (answer.body !== undefined && answer.body.length > LONG_BODY) {
      whenOnSocket(exchange, () => void sendLong(exchange, answer, options.clock));
      return;
    }
    response.writeHead(answer.status, headersOf(answer));
    response.end(answer.body);
  }
  cutSlowReader(exchange, options.clock);
}

/** On its own, since a closure beside the answer would keep its body for as long as the client takes to read. */
function cutSlowReader(exchange: Exchange, clock: Clock): void {
  const { request, response } = exchange;
  whenOnSocket(exchange, () => {
    // What the system has taken whole does not wait for a slow reader.
    if (response.writableEnded && request.socket.writableLength === 0) return;
    exchange.onEnd(clock.after(READ_ANSWER_MS, () => request.socket.destroy()));
  });
}

/** What of a body is still to come behind its answer is thrown away by Node, so that the connection can be used again, but not for ever. */
export function endOfBody(request: IncomingMessage, clock: Clock): void {
  if (request.complete) return;
  const cancel = clock.after(LINGER_MS, () => request.socket.destroy());
  request.once("close", cancel);
  request.on("error", () => {});
  request.resume();
}

/** A whole answer that a slow client cannot read in the time for one. */
async function sendLong(exchange: Exchange, answer: Answer, clock: Clock): Promise<void> {
  const { request, response } = exchange;
  const given = answer.body ?? "";
  const body = typeof given === "string" ? Buffer.from(given) : given;
  response.writeHead(answer.status, [...answer.headers, "Content-Length", String(body.byteLength)]);
  if (!(await writeAtPace(response, body, clientPace(exchange, clock)))) {
    request.socket.destroy();
    return;
  }
  response.end();
  exchange.onEnd(clock.after(READ_ANSWER_MS, () => request.socket.destroy()));
}

function headersOf(answer: Answer): string[] {
  if (answer.body === undefined) return [...answer.headers];
  return [...answer.headers, "Content-Length", String(Buffer.byteLength(answer.body))];
}

function restIsSmall({ request }: Exchange, limitBytes: number): boolean {
  const length = declaredLength(request);
  return length !== undefined && length <= limitBytes;
}

/** A response that waits for another one on its connection has no socket yet; its client cannot be slow to read it. */
function whenOnSocket({ response }: Exchange, action: () => void): void {
  if (response.socket !== null) action();
  else response.once("socket", action);
}

/**
 * Closing a socket while the client still sends makes the system reset the connection, and the client may lose the answer. So
 * the whole answer goes out first, then the rest is read and thrown away for a while, and only then the connection ends.
 */
function sendThenClose(exchange: Exchange, answer: Answer, clock: Clock): void {
  const { request, response } = exchange;
  let thrownAway = 0;
  const cancelLinger = clock.after(LINGER_MS, end);
  function end(): void {
    cancelLinger();
    request.off("data", onData).off("end", end);
    if (!response.writableEnded) response.end();
  }
  function onData(chunk: Buffer): void {
    thrownAway += chunk.byteLength;
    if (thrownAway > LINGER_BYTES) end();
  }
  exchange.onEnd(end);
  request.on("error", () => {});
  response.writeHead(answer.status, [...headersOf(answer), "Connection", "close"]);
  if (answer.body === undefined || answer.body === "" || request.method === "HEAD") response.flushHeaders();
  else response.write(answer.body);
  request.on("data", onData).on("end", end);
  // Whoever took a part of the body may have paused it.
  request.resume();
}
