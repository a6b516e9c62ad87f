import type { Clock } from "../../../kernel/clock.ts";
import type { ChannelReader } from "../../../kernel/module.ts";
import { clientPace, READ_ANSWER_MS, writeAtPace } from "./answer-pace.ts";
import type { Exchange } from "./exchanges.ts";
import type { HeaderList } from "./header-list.ts";
import { endOfBody } from "./send.ts";

export interface StreamedAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly length: number | undefined;
  readonly first: Buffer;
  readonly reader: ChannelReader;
  /** Called when the last piece is written: what the exchange still holds can go. */
  release(): void;
}

/**
 * Writes a streamed answer, each piece as it comes, and holds the function back while the client is slow. Resolves when the
 * stream is over. An answer that breaks off ends with its connection, so that the client cannot take it for a whole one.
 */
export async function sendStream(exchange: Exchange, answer: StreamedAnswer, clock: Clock): Promise<void> {
  const { request, response } = exchange;
  const { reader } = answer;
  if (exchange.isOver) {
    reader.cancel();
    return;
  }
  exchange.onEnd(() => reader.cancel());
  const breakOff = (): void => {
    reader.cancel();
    request.socket.destroy();
  };
  exchange.onWithdrawn(breakOff);

  const { status, length } = answer;
  response.writeHead(status, [...answer.headers, ...(length === undefined ? [] : ["Content-Length", String(length)])]);
  if (request.method === "HEAD" || status === 204 || status === 304) {
    response.end();
    reader.cancel();
    answer.release();
    return;
  }
  const takes = clientPace(exchange, clock);
  let sent = 0;
  let piece: Buffer | undefined = answer.first;
  while (piece !== undefined) {
    sent += piece.byteLength;
    // More or less than was promised would be read as the beginning of the next answer, or waited for.
    if (length !== undefined && sent > length) break;
    if (!(await writeAtPace(response, piece, takes))) break;
    piece = await nextPiece(reader);
  }
  if (exchange.isOver) return;
  if (piece !== undefined || reader.ended !== "finished" || (length !== undefined && sent !== length)) {
    breakOff();
    return;
  }
  exchange.onEnd(clock.after(READ_ANSWER_MS, breakOff));
  answer.release();
  endOfBody(request, clock);
  response.end();
}

/** Texts after the beginning are passed over, as published. */
async function nextPiece(reader: ChannelReader): Promise<Buffer | undefined> {
  for (;;) {
    const item = await reader.read();
    if (item === undefined) return undefined;
    if (item.kind === "binary") return item.bytes;
  }
}
