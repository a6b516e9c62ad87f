import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { CallError } from "@svc-runtime/protocol";

/** Maximum bytes read from the disk per call. */
const MAX_READ_BYTES = 32 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
/** Maximum characters per result, because lines may be long. */
const MAX_RESULT_LENGTH = 1024 * 1024;

export type LogStream = "out" | "err" | "install" | "svc";

/** One line of a worker's log file. */
export interface LogLine {
  /** ISO 8601. */
  readonly time: string;
  readonly stream: LogStream;
  /** Number of the replica that wrote the line, from 1. Null if there is one replica, or the line belongs to none. */
  readonly replica: number | null;
  readonly text: string;
}

/** Selects lines. */
export interface LineFilter {
  readonly sinceMs: number | undefined;
  readonly stream: LogStream | undefined;
}

export interface LinesRead {
  readonly lines: readonly LogLine[];
  /** Opaque position after the last line that was read. */
  readonly cursor: string;
  /** True if lines after the given cursor no longer exist. */
  readonly hasGap: boolean;
}

const LINE = /^(\S+Z) (out|err|install|svc)(?:#(\d+))? (.*)$/s;

/**
 * Parses a line of the file. Returns undefined for an invalid line, e.g. one that was cut off when the engine was
 * killed.
 */
export function parseLine(line: string): LogLine | undefined {
  const [, time, stream, replica, text] = LINE.exec(line) ?? [];
  if (time === undefined || text === undefined) return undefined;
  return { time, stream: stream as LogStream, replica: replica === undefined ? null : Number(replica), text };
}

interface OpenFile {
  readonly handle: FileHandle;
  readonly inode: number;
  readonly size: number;
  /**
   * Hash of the beginning of the file. The inode is not enough, because a new file may get the inode of a removed file.
   */
  readonly mark: string;
}

/** Maximum bytes of the first line that are hashed. The line begins with a time, so these bytes identify the file. */
const MARK_BYTES = 256;
/** Mark of a file without a complete line. */
const NO_MARK = "0";

async function markOf(handle: FileHandle, size: number): Promise<string> {
  const bytes = await readAt(handle, 0, Math.min(size, MARK_BYTES));
  const newline = bytes.indexOf(10);
  // An incomplete line gives no mark, because the mark would change when the line is completed.
  if (newline < 0 && bytes.length < MARK_BYTES) return NO_MARK;
  return createHash("sha256")
    .update(newline < 0 ? bytes : bytes.subarray(0, newline))
    .digest("hex")
    .slice(0, 16);
}

/** Returns the last `count` lines that match the filter. `files`: oldest first; missing files count as empty. */
export async function lastLines(
  files: readonly string[],
  options: { readonly count: number; readonly filter: LineFilter },
): Promise<LinesRead> {
  return withFiles(files, async (opened) => {
    const newest = opened.at(-1);
    const end = newest === undefined ? 0 : await endOfLines(newest);
    const found: LogLine[] = [];
    let length = 0;
    let budget = MAX_READ_BYTES;
    for await (const text of allBackwards(opened, end)) {
      budget -= text.length + 1;
      if (found.length >= options.count || budget < 0 || length > MAX_RESULT_LENGTH) break;
      const line = parseLine(text);
      if (line === undefined) continue;
      // Lines are in the order of time, so all lines before this one are too old as well.
      if (isOlder(line, options.filter)) break;
      if (!matchesStream(line, options.filter)) continue;
      found.push(line);
      length += line.text.length;
    }
    return {
      lines: found.reverse(),
      cursor: newest === undefined ? AT_BEGINNING : cursorOf(newest, end),
      hasGap: false,
    };
  });
}

/**
 * Returns lines after the cursor that match the filter, at most `count`. Removed files are skipped. Throws
 * `invalid_input` for an invalid cursor.
 */
export async function linesAfter(
  files: readonly string[],
  options: { readonly cursor: string; readonly count: number; readonly filter: LineFilter },
): Promise<LinesRead> {
  const position = positionOf(options.cursor);
  return withFiles(files, async (opened) => {
    // A file that is shorter than the position is not the same file any more: another program has rewritten it.
    const at = opened.findIndex(
      (file) =>
        file.inode === position.inode &&
        position.offset <= file.size &&
        (position.offset === 0 || file.mark === position.mark),
    );
    const hasGap = at < 0 && position.offset > 0;
    const lines: LogLine[] = [];
    let { cursor } = options;
    let length = 0;
    let budget = MAX_READ_BYTES;
    for (const [index, file] of opened.entries()) {
      if (index < at) continue;
      const start = index === at ? position.offset : 0;
      for await (const { text, end } of linesForwards(file, start)) {
        if (lines.length >= options.count || length > MAX_RESULT_LENGTH || budget < 0) return { lines, cursor, hasGap };
        budget -= text.length + 1;
        cursor = cursorOf(file, end);
        const line = parseLine(text);
        if (line === undefined || isOlder(line, options.filter) || !matchesStream(line, options.filter)) continue;
        lines.push(line);
        length += line.text.length;
      }
    }
    return { lines, cursor, hasGap };
  });
}

function isOlder(line: LogLine, { sinceMs }: LineFilter): boolean {
  return sinceMs !== undefined && Date.parse(line.time) < sinceMs;
}

function matchesStream(line: LogLine, { stream }: LineFilter): boolean {
  return stream === undefined || line.stream === stream;
}

async function withFiles<T>(files: readonly string[], read: (opened: readonly OpenFile[]) => Promise<T>): Promise<T> {
  const handles: FileHandle[] = [];
  try {
    const opened: OpenFile[] = [];
    for (const file of files) {
      const handle = await open(file, "r").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw error;
      });
      if (handle === undefined) continue;
      handles.push(handle);
      const { ino, size } = await handle.stat();
      // If the log is rotated between two of these calls, the same file is opened under two names.
      if (!opened.some(({ inode }) => inode === ino))
        opened.push({ handle, inode: ino, size, mark: await markOf(handle, size) });
    }
    return await read(opened);
  } finally {
    for (const handle of handles) await handle.close();
  }
}

/** Returns where the last complete line ends. */
async function endOfLines({ handle, size }: OpenFile): Promise<number> {
  for (let end = size; end > 0; end -= CHUNK_BYTES) {
    const bytes = await readAt(handle, Math.max(0, end - CHUNK_BYTES), end);
    const newline = bytes.lastIndexOf(10);
    if (newline >= 0) return Math.max(0, end - CHUNK_BYTES) + newline + 1;
  }
  return 0;
}

/** Yields all lines from `end` in the newest file back to the first line of the oldest. */
async function* allBackwards(opened: readonly OpenFile[], end: number): AsyncGenerator<string> {
  for (const file of [...opened].reverse()) yield* linesBackwards(file, file === opened.at(-1) ? end : file.size);
}

/** Yields the lines from the one that ends at `end` back to the first. */
async function* linesBackwards({ handle }: OpenFile, end: number): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  for (let at = end; at > 0; at -= CHUNK_BYTES) {
    const bytes = Buffer.concat([await readAt(handle, Math.max(0, at - CHUNK_BYTES), at), rest]);
    const first = bytes.indexOf(10);
    const isFirstChunk = at <= CHUNK_BYTES;
    // Text before the first newline may be the end of a line that begins in the previous chunk.
    const whole = isFirstChunk ? bytes : first < 0 ? Buffer.alloc(0) : bytes.subarray(first + 1);
    rest = isFirstChunk ? Buffer.alloc(0) : first < 0 ? bytes : Buffer.from(bytes.subarray(0, first + 1));
    const lines = whole.toString("utf8").split("\n");
    for (const line of lines.reverse()) if (line !== "") yield line;
  }
}

async function* linesForwards(
  { handle, size }: OpenFile,
  start: number,
): AsyncGenerator<{ readonly text: string; readonly end: number }> {
  let rest = Buffer.alloc(0);
  for (let at = start; at < size; at += CHUNK_BYTES) {
    const base = at - rest.length;
    const bytes = Buffer.concat([rest, await readAt(handle, at, Math.min(size, at + CHUNK_BYTES))]);
    let from = 0;
    for (let newline = bytes.indexOf(10); newline >= 0; newline = bytes.indexOf(10, from)) {
      yield { text: bytes.toString("utf8", from, newline), end: base + newline + 1 };
      from = newline + 1;
    }
    rest = Buffer.from(bytes.subarray(from));
  }
}

async function readAt(handle: FileHandle, start: number, end: number): Promise<Buffer> {
  const bytes = Buffer.alloc(end - start);
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
  return bytes.subarray(0, bytesRead);
}

/** Position before all lines, if there is no file yet. */
const AT_BEGINNING = `0.${NO_MARK}-0`;

function cursorOf({ inode, mark }: OpenFile, offset: number): string {
  return `${inode}.${mark}-${offset}`;
}

function positionOf(cursor: string): { readonly inode: number; readonly mark: string; readonly offset: number } {
  const [, inode, mark, offset] = /^(\d{1,20})\.([\da-f]{1,16})-(\d{1,15})$/.exec(cursor) ?? [];
  if (inode === undefined || mark === undefined || offset === undefined)
    throw new CallError("invalid_input", "cursor: not returned by worker::logs; omit it to start at the last lines");
  return { inode: Number(inode), mark, offset: Number(offset) };
}
