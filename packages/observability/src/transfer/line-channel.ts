import {
  type ChannelReader,
  type ChannelWriter,
  type Clock,
  type LineSource,
  linesOf,
} from "@svc-runtime/engine/module";
import { CallError } from "@svc-runtime/protocol";

const PIECE_CHARACTERS = 64 * 1024;
const MAX_LINE_CHARACTERS = 16 * 1024 * 1024;
/** Maximum time without progress, in milliseconds. After it, the reader or writer is aborted. */
const STALL_LIMIT_MS = 120_000;

/**
 * Writes lines with backpressure, and then ends the stream. Never rejects, because an error aborts the channel instead.
 */
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
    writer.abort(`the export failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * Yields the lines of a channel; see `linesOf`. Cancels the channel if the caller stops early. Throws the errors of
 * `linesOf`. Throws `call_timeout` if nothing arrives for two minutes.
 */
export async function* readLines(reader: ChannelReader, clock: Clock): AsyncGenerator<string> {
  const source: LineSource = {
    read: () => nextItem(reader, clock),
    get ended() {
      return reader.ended;
    },
  };
  try {
    for await (const { text } of linesOf(source, MAX_LINE_CHARACTERS)) yield text;
  } finally {
    reader.cancel();
  }
}

/** Parses a line of JSON. Returns undefined if it is invalid. */
export function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

async function nextItem(reader: ChannelReader, clock: Clock): ReturnType<ChannelReader["read"]> {
  let isLate = false;
  const cancel = clock.after(STALL_LIMIT_MS, () => {
    isLate = true;
    reader.cancel();
  });
  const item = await reader.read();
  cancel();
  if (isLate)
    throw new CallError("call_timeout", `nothing was sent for ${STALL_LIMIT_MS / 1_000} s`, {
      details: { timeout_ms: STALL_LIMIT_MS },
    });
  return item;
}
