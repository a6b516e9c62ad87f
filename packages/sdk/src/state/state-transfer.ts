import type { ReadRef } from "../channels/channel-reader.ts";
import type { ChannelItem } from "../channels/channel-socket.ts";
import type { ChannelWriter } from "../channels/channel-writer.ts";
import { callEngine, callForResult, type HelperCalls, helperOptions } from "../items/call-engine.ts";
import { checkedOptions } from "../names/option-names.ts";
import type { ExportOptions, ImportItem, ImportOptions, ImportResult } from "./state-types.ts";

const OPTIONS = helperOptions("state", { export: ["scope", "prefix"], import: ["onExisting"] });

/** Default timeout of an import, in milliseconds. It is long because an import ends when its last line is stored. */
const IMPORT_TIMEOUT_MS = 3_600_000;
/** Approximate size at which lines are sent together, in bytes. */
const BATCH_BYTES = 32 * 1024;

/**
 * Yields the lines of an export, without line ends. The export starts at the first line. Leaving the loop early stops
 * it.
 */
export async function* exportedLines(calls: HelperCalls, options: ExportOptions): AsyncGenerator<string, void, void> {
  const payload = { scope: options.scope, prefix: options.prefix };
  const answer = callEngine<{ readonly lines: ReadRef }>(calls, "state::export", payload, options, OPTIONS.export);
  const { lines } = await answer;
  const reader = calls.channels.end(lines) as AsyncIterable<ChannelItem>;
  yield* linesOf(reader);
}

/** Splits the content at line ends, independent of the item boundaries. Omits empty lines. */
async function* linesOf(items: AsyncIterable<ChannelItem>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const item of items) {
    const parts = (rest + (typeof item === "string" ? item : decoder.decode(item, { stream: true }))).split("\n");
    rest = parts.pop() ?? "";
    for (const line of parts) if (line.trim() !== "") yield line;
  }
  if (rest.trim() !== "") yield rest;
}

/**
 * Sends items to `state::import`, as fast as it accepts them. If the iterator of the items throws, the import is
 * aborted and the error is rethrown.
 */
export async function importItems(calls: HelperCalls, items: Items, options: ImportOptions): Promise<ImportResult> {
  const { onExisting, signal, timeoutMs = IMPORT_TIMEOUT_MS } = checkedOptions(options, OPTIONS.import);
  const source = openIterator(items);
  const opening = callEngine(calls, "engine::channels::create", {}, { signal }, OPTIONS.import);
  const created = await opening.catch(async (error: unknown) => {
    await source.close();
    throw error;
  });
  const { reader, writer } = calls.channels.created(created);
  const failed = new AbortController();
  const answer = callForResult<ImportResult>(
    calls,
    "state::import",
    { lines: reader, on_existing: onExisting },
    { signal: signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]), timeoutMs },
    OPTIONS.import,
  );
  // If the import ends early, for example with an error, it needs no more lines, and later errors of the items are
  // ignored.
  const over = answer.then(
    () => writer.abort("the import has ended"),
    () => writer.abort("the import failed"),
  );
  const sending = sendAll(writer, source.items).catch((error: unknown) => {
    writer.abort("the items to import failed");
    // The engine's error about a line is more useful than the closed channel.
    if (isChannelClosed(error)) return;
    // The reader of a channel that was never connected would wait for it.
    failed.abort();
    throw error;
  });
  await Promise.race([sending, over]);
  return answer;
}

type Items = Iterable<ImportItem> | AsyncIterable<ImportItem>;

/**
 * Gets the iterator before the first await: node:readline emits lines from the start, and lines without a listener are
 * lost.
 */
function openIterator(items: Items): { readonly items: Items; close(): Promise<void> } {
  if (!(Symbol.asyncIterator in items)) return { items, close: async () => {} };
  const iterator = items[Symbol.asyncIterator]();
  return {
    items: { [Symbol.asyncIterator]: () => iterator },
    close: async () => {
      await iterator.return?.();
    },
  };
}

async function sendAll(writer: ChannelWriter, items: Items): Promise<void> {
  let batch = "";
  for await (const item of items) {
    batch += typeof item === "string" ? (item.endsWith("\n") ? item : `${item}\n`) : `${JSON.stringify(item)}\n`;
    if (batch.length < BATCH_BYTES) continue;
    await writer.send(batch);
    batch = "";
  }
  if (batch !== "") await writer.send(batch);
  await writer.end();
}

function isChannelClosed(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === "channel_closed";
}
