import { CallError } from "@svc/protocol";

/** A line as it stands in the stream; numbers begin with 1. Blank lines are counted and left out. */
export interface NumberedLine {
  readonly number: number;
  readonly text: string;
}

/** What is needed of a channel's reading end. */
export interface LineSource {
  read(): Promise<{ readonly kind: "text"; readonly text: string } | { readonly kind: "binary"; readonly bytes: Buffer } | undefined>;
  readonly ended: "open" | "finished" | "aborted";
}

/**
 * Lines of a channel whose items are pieces of UTF-8, cut anywhere. The last line needs no end. Throws `invalid_input` for bytes that are no UTF-8 and
 * `payload_too_large` for a line longer than `maxCharacters`, both naming the line, and `channel_closed` when the writer broke off.
 */
export async function* linesOf(reader: LineSource, maxCharacters: number): AsyncGenerator<NumberedLine> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let number = 1;
  /** Pieces of the line that has not ended. */
  let pieces: string[] = [];
  let length = 0;

  const add = (piece: string): void => {
    pieces.push(piece);
    length += piece.length;
    if (length <= maxCharacters) return;
    throw new CallError("payload_too_large", `line ${number}: is longer than ${maxCharacters} characters, which is the limit of a line`, {
      details: { line: number, limit: maxCharacters },
    });
  };
  const take = (): NumberedLine => {
    const line = { number, text: pieces.join("") };
    number += 1;
    pieces = [];
    length = 0;
    return line;
  };
  const decode = (bytes?: Buffer): string => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch (cause) {
      throw new CallError("invalid_input", `line ${number}: or one soon after it holds bytes that are no UTF-8`, { cause, details: { line: number } });
    }
  };

  for (let item = await reader.read(); item !== undefined; item = await reader.read()) {
    const chunk = item.kind === "text" ? item.text : decode(item.bytes);
    let start = 0;
    for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", start)) {
      add(chunk.slice(start, end));
      start = end + 1;
      const line = take();
      if (line.text.trim() !== "") yield line;
    }
    if (start < chunk.length) add(chunk.slice(start));
  }
  if (reader.ended === "aborted") {
    throw new CallError("channel_closed", `the stream of lines broke off in line ${number}`, { details: { line: number } });
  }
  add(decode());
  const last = take();
  if (last.text.trim() !== "") yield last;
}
