import { CallError } from "@svc-runtime/protocol";
import { linesOf } from "../../../items/line-reader.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { ChannelReader } from "../../../kernel/module.ts";
import type { SetRequest, WriteOrigin, Writes } from "../writes.ts";
import { parseLine } from "./line.ts";

/** Handling of a line whose item exists: replace the item, skip the line, or stop the import. */
export type OnExisting = "overwrite" | "skip" | "fail";

export interface ImportCounts {
  imported: number;
  skipped: number;
}

/** Maximum lines and bytes of values per batch. */
const BATCH_LINES = 200;
const BATCH_BYTES = 1024 * 1024;
/**
 * Maximum length of a line without its value, in characters. It is enough for names whose characters are all escaped,
 * and for some unknown members.
 */
const LINE_MARGIN_CHARACTERS = 64 * 1024;

interface Line {
  readonly number: number;
  readonly request: SetRequest;
}

/**
 * Stores the lines of a channel in batches and in order. The first invalid line ends the import; every line before it
 * is stored. Errors have `details: {line, imported, skipped}`, and `executed: "yes"` if lines were stored. The writer
 * is throttled while a batch is stored.
 */
export async function importLines(parts: {
  readonly reader: ChannelReader;
  readonly writes: Writes;
  readonly clock: Clock;
  readonly onExisting: OnExisting;
  readonly maxValueBytes: number;
  readonly origin: WriteOrigin;
  readonly signal: AbortSignal;
}): Promise<ImportCounts> {
  const { reader, writes, clock, onExisting, maxValueBytes, origin, signal } = parts;
  const counts: ImportCounts = { imported: 0, skipped: 0 };
  const store = STORE[onExisting];
  let batch: Line[] = [];
  let bytes = 0;

  async function flush(): Promise<void> {
    const lines = batch;
    batch = [];
    bytes = 0;
    if (lines.length > 0) await store(lines, { writes, origin, counts });
  }
  async function take({ number, text }: { readonly number: number; readonly text: string }): Promise<void> {
    const { scope, key, value, version, expiresAt } = atLine(number, () => parseLine(text, maxValueBytes));
    if (expiresAt !== undefined && expiresAt <= clock.now()) {
      counts.skipped += 1;
      return;
    }
    batch.push({
      number,
      request: {
        ...{ scope, key, value, expiresAt, leastVersion: version },
        ifVersion: onExisting === "overwrite" ? undefined : 0,
      },
    });
    bytes += value.bytes;
    if (batch.length >= BATCH_LINES || bytes >= BATCH_BYTES) await flush();
  }

  const stop = (): void => reader.cancel();
  signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const line of linesOf(reader, 2 * maxValueBytes + LINE_MARGIN_CHARACTERS)) {
      signal.throwIfAborted();
      await take(line);
    }
    await flush();
    return counts;
  } catch (thrown) {
    throw withCounts(signal.aborted ? thrown : await afterFlush(thrown, flush), counts);
  } finally {
    signal.removeEventListener("abort", stop);
    reader.cancel();
  }
}

/** Stores the lines before the invalid line. Returns `thrown`, or the error of storing these lines if that fails. */
async function afterFlush(thrown: unknown, flush: () => Promise<void>): Promise<unknown> {
  try {
    await flush();
    return thrown;
  } catch (earlier) {
    return earlier;
  }
}

interface StoreParts {
  readonly writes: Writes;
  readonly origin: WriteOrigin;
  readonly counts: ImportCounts;
}

const STORE: Readonly<Record<OnExisting, (lines: readonly Line[], parts: StoreParts) => Promise<void>>> = {
  async overwrite(lines, parts) {
    try {
      await atLines(lines, () => parts.writes.setMany(requestsOf(lines), parts.origin));
      parts.counts.imported += lines.length;
    } catch (thrown) {
      // Small lines may replace values that are together too large for one batch. After this error nothing was written,
      // so split the batch and try again.
      if (lines.length === 1 || !CallError.is(thrown) || thrown.code !== "payload_too_large") throw thrown;
      const middle = Math.ceil(lines.length / 2);
      await STORE.overwrite(lines.slice(0, middle), parts);
      await STORE.overwrite(lines.slice(middle), parts);
    }
  },
  /**
   * Makes a separate write for each line. The writes are concurrent, so the store syncs them together. A write to an
   * existing item fails with a conflict, and its line is skipped.
   */
  async skip(lines, { writes, origin, counts }) {
    const outcomes = await Promise.allSettled(lines.map(({ request }) => writes.set(request, origin)));
    for (const [index, outcome] of outcomes.entries()) {
      const exists =
        outcome.status === "rejected" && CallError.is(outcome.reason) && outcome.reason.code === "state_conflict";
      if (outcome.status === "rejected" && !exists) throw lineError(lines[index]?.number ?? 0, outcome.reason);
      if (exists) counts.skipped += 1;
      else counts.imported += 1;
    }
  },
  async fail(lines, { writes, origin, counts }) {
    try {
      await writes.setMany(requestsOf(lines), origin);
      counts.imported += lines.length;
    } catch (thrown) {
      const index =
        CallError.is(thrown) && thrown.code === "state_conflict" ? Number(thrown.details?.index) : undefined;
      const bad = index === undefined ? undefined : lines[index];
      if (bad === undefined) throw lineError(lines[0]?.number ?? 0, thrown);
      const before = lines.slice(0, index);
      if (before.length > 0) await atLines(before, () => writes.setMany(requestsOf(before), origin));
      counts.imported += before.length;
      const { scope, key } = bad.request;
      throw new CallError(
        "state_conflict",
        `line ${bad.number}: ${JSON.stringify(key)} in scope ${JSON.stringify(scope)} already exists`,
        {
          details: { line: bad.number },
        },
      );
    }
  },
};

function requestsOf(lines: readonly Line[]): SetRequest[] {
  return lines.map(({ request }) => request);
}

function atLine<T>(number: number, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw lineError(number, thrown);
  }
}

async function atLines<T>(lines: readonly Line[], write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (thrown) {
    throw lineError(lines[0]?.number ?? 0, thrown);
  }
}

function lineError(number: number, thrown: unknown): unknown {
  if (!CallError.is(thrown)) return thrown;
  return new CallError(thrown.code, `line ${number}: ${thrown.message}`, {
    cause: thrown,
    details: { ...thrown.details, line: number },
  });
}

function withCounts(thrown: unknown, { imported, skipped }: ImportCounts): unknown {
  if (!CallError.is(thrown)) return thrown;
  const message = `${thrown.message}; ${imported} lines before it were imported, ${skipped} skipped`;
  return new CallError(thrown.code, message, {
    cause: thrown,
    details: { ...thrown.details, imported, skipped, ...(imported > 0 ? { executed: "yes" } : {}) },
  });
}
