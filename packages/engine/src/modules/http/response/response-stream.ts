import type { Clock } from "../../../kernel/clock.ts";
import type { ChannelReader } from "../../../kernel/module.ts";
import type { Exchange } from "./exchanges.ts";
import type { HeaderList } from "./header-list.ts";
import { clientPace, READ_RESPONSE_MS, writeAtPace } from "./response-pace.ts";
import { endOfBody } from "./send.ts";

export interface StreamedResponse {
  readonly status: number;
  readonly headers: HeaderList;
  readonly length: number | undefined;
  readonly first: Buffer;
  readonly reader: ChannelReader;
  /** Called when the last piece is written. Releases the channels and files that the exchange still holds. */
  release(): void;
}

/**
 * Writes a streamed response piece by piece, with backpressure to the function. Resolves when the stream is over. If
 * the stream is incomplete, the connection is closed, so that the client does not take it for a complete response.
 */
export async function sendStream(exchange: Exchange, routeResponse: StreamedResponse, clock: Clock): Promise<void> {
  const { request, response } = exchange;
  const { reader } = routeResponse;
  if (exchange.isOver) {
    reader.cancel();
    return;
  }
  exchange.onEnd(() => reader.cancel());
  const abort = (): void => {
    reader.cancel();
    request.socket.destroy();
  };
  exchange.onWithdrawn(abort);

  const { status, length } = routeResponse;
  response.writeHead(status, [
    ...routeResponse.headers,
    ...(length === undefined ? [] : ["Content-Length", String(length)]),
  ]);
  if (request.method === "HEAD" || status === 204 || status === 304) {
    response.end();
    reader.cancel();
    routeResponse.release();
    return;
  }
  const takes = clientPace(exchange, clock);
  let sent = 0;
  let piece: Buffer | undefined = routeResponse.first;
  while (piece !== undefined) {
    sent += piece.byteLength;
    // The client would read bytes beyond the declared length as the next response.
    if (length !== undefined && sent > length) break;
    if (!(await writeAtPace(response, piece, takes))) break;
    piece = await nextPiece(reader);
  }
  if (exchange.isOver) return;
  if (piece !== undefined || reader.ended !== "finished" || (length !== undefined && sent !== length)) {
    abort();
    return;
  }
  exchange.onEnd(clock.after(READ_RESPONSE_MS, abort));
  routeResponse.release();
  endOfBody(request, clock);
  response.end();
}

/** Returns the next piece of the body. Ignores text items, because status and headers have already been sent. */
async function nextPiece(reader: ChannelReader): Promise<Buffer | undefined> {
  for (;;) {
    const item = await reader.read();
    if (item === undefined) return undefined;
    if (item.kind === "binary") return item.bytes;
  }
}
