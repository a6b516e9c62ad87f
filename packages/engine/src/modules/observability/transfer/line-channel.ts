import { CallError } from "@svc/protocol";
import type { Clock } from "../../../kernel/clock.ts";
import type { ChannelReader, ChannelWriter } from "../../../kernel/module.ts";

const PIECE_CHARACTERS = 64 * 1024;
/** Of one line that is read. */
const MAX_LINE_CHARACTERS = 16 * 1024 * 1024;
/** A reader that takes nothing for so long, or a writer that sends nothing, is given up, in milliseconds. */
const STALL_LIMIT_MS = 120_000;

/** Writes lines as fast as the reader takes them, and ends the stream. Never rejects: what goes wrong tears the channel. */
export async function writeLines(writer: ChannelWriter, lines: AsyncIterable<string>, clock: Clock): Promise<void> {
  const write = async (text: string): Promise<boolean> => {
    const cancel = clock.after(STALL_LIMIT_MS, () => writer.abort(`nothing was read for ${STALL_LIMIT_MS / 1_000} s`));
    try {
      return await writer.write({ kind: "text", text });
    } finally {
      cancel();
    }
  };
  try {
    let piece = "";
    for await (const line of lines) {
      piece += `${line}\n`;
      if (piece.length < PIECE_CHARACTERS) continue;
      if (!(await write(piece))) return;
      piece = "";
    }
    if (piece !== "" && !(await write(piece))) return;
    writer.end();
  } catch (error) {
    writer.abort(`the export broke off: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * Lines of a channel whose items are pieces of UTF-8, cut anywhere; blank ones are left out. Throws `invalid_input` for bytes that are no UTF-8,
 * `payload_too_large` for a line over 16 Mi characters, `channel_closed` when the writer broke off, `call_timeout` when nothing came for two minutes.
 */
export async function* readLines(reader: ChannelReader, clock: Clock): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let pieces: string[] = [];
  let length = 0;
  const add = (piece: string): void => {
    pieces.push(piece);
    length += piece.length;
    if (length > MAX_LINE_CHARACTERS) throw new CallError("payload_too_large", `a line is longer than ${MAX_LINE_CHARACTERS} characters, which is the limit`);
  };
  const take = (): string => {
    const line = pieces.join("");
    pieces = [];
    length = 0;
    return line;
  };
  for (;;) {
    const item = await nextItem(reader, clock);
    const chunk = item === undefined ? decode(decoder) : item.kind === "text" ? item.text : decode(decoder, item.bytes);
    let start = 0;
    for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", start)) {
      add(chunk.slice(start, end));
      start = end + 1;
      const line = take();
      if (line.trim() !== "") yield line;
    }
    if (start < chunk.length) add(chunk.slice(start));
    if (item === undefined) break;
  }
  if (reader.ended === "torn") throw new CallError("channel_closed", "the stream of lines broke off before its end");
  const last = take();
  if (last.trim() !== "") yield last;
}

async function nextItem(reader: ChannelReader, clock: Clock): ReturnType<ChannelReader["read"]> {
  let isLate = false;
  const cancel = clock.after(STALL_LIMIT_MS, () => {
    isLate = true;
    reader.cancel();
  });
  const item = await reader.read();
  cancel();
  if (isLate) throw new CallError("call_timeout", `nothing was sent for ${STALL_LIMIT_MS / 1_000} s`, { details: { timeout_ms: STALL_LIMIT_MS } });
  return item;
}

function decode(decoder: InstanceType<typeof TextDecoder>, bytes?: Buffer): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined });
  } catch (cause) {
    throw new CallError("invalid_input", "the stream of lines holds bytes that are no UTF-8", { cause });
  }
}
