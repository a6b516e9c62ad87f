import { CallError } from "@svc-runtime/protocol";

/** A line with its number, counted from 1. Blank lines are counted too, but not returned. */
export interface NumberedLine {
  readonly number: number;
  readonly text: string;
}

/** The part of a channel reader that `linesOf` uses. */
export interface LineSource {
  read(): Promise<
    { readonly kind: "text"; readonly text: string } | { readonly kind: "binary"; readonly bytes: Buffer } | undefined
  >;
  readonly ended: "open" | "finished" | "aborted";
}

/**
 * Yields the lines of a channel. The channel's items are chunks of UTF-8, which may be split anywhere. The last line
 * needs no line feed. Throws `invalid_input` for invalid UTF-8, `payload_too_large` for a line longer than
 * `maxCharacters`, and `channel_closed` if the writer disconnected early. Each error has the number of its line.
 */
export async function* linesOf(reader: LineSource, maxCharacters: number): AsyncGenerator<NumberedLine> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let number = 1;
  /** Parts of the current line. */
  let pieces: string[] = [];
  let length = 0;

  const add = (piece: string): void => {
    pieces.push(piece);
    length += piece.length;
    if (length <= maxCharacters) return;
    throw new CallError(
      "payload_too_large",
      `line ${number}: is longer than the maximum of ${maxCharacters} characters`,
      {
        details: { line: number, limit: maxCharacters },
      },
    );
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
      throw new CallError("invalid_input", `line ${number}: this line or one soon after it contains invalid UTF-8`, {
        cause,
        details: { line: number },
      });
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
    throw new CallError("channel_closed", `the channel was closed early, in line ${number}`, {
      details: { line: number },
    });
  }
  add(decode());
  const last = take();
  if (last.text.trim() !== "") yield last;
}
