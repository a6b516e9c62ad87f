import type { ReadRef } from "../channels/channel-host.ts";
import type { ChannelItem } from "../channels/channel-socket.ts";
import type { ChannelWriter } from "../channels/channel-writer.ts";
import { callFunction, type HelperCalls, type HelperMethod, helperOptions } from "../items/helper-methods.ts";
import { engineResult } from "../names/engine-result.ts";
import { checkedOptions } from "../names/option-names.ts";
import type { Items, OpenItems } from "./open-items.ts";
import type { ExportOptions, ImportOptions, ImportResult } from "./state-types.ts";

const EXPORT: HelperMethod = ["state::export", [], undefined, ["scope", "prefix"]];
const exportOptions = helperOptions("state.export", EXPORT[3]);
const IMPORT: HelperMethod = ["state::import", ["lines", "on_existing"], engineResult];
const importOptions = helperOptions("state.import", ["onExisting"]);
const CREATE_CHANNEL: HelperMethod = ["engine::channels::create", []];

/** Default timeout of an import, in milliseconds. It is long because an import ends when its last line is stored. */
const IMPORT_TIMEOUT_MS = 3_600_000;
/** Approximate size of a batch of lines, in bytes. Lines are sent in batches. */
const BATCH_BYTES = 32 * 1024;

/**
 * Yields the lines of an export, without line ends. The engine begins the export when the caller requests the first
 * line. If the caller leaves its loop early, the export is cancelled.
 */
export async function* exportedLines(calls: HelperCalls, options: ExportOptions): AsyncGenerator<string, void, void> {
  const { lines } = (await callFunction(calls, EXPORT, exportOptions, [options])) as { readonly lines: ReadRef };
  const reader = calls.channels.end(lines) as AsyncIterable<ChannelItem>;
  yield* linesOf(reader);
}

/** Splits the content into lines. The boundaries of the items do not matter. Empty lines are omitted. */
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
 * Sends items to `state::import`, as fast as the engine accepts them. If the iterator of the items throws, the import
 * is aborted and the error is rethrown.
 */
export async function importItems(
  calls: HelperCalls,
  source: OpenItems,
  options: ImportOptions,
): Promise<ImportResult> {
  const { onExisting, signal, timeoutMs = IMPORT_TIMEOUT_MS } = checkedOptions(options, importOptions);
  const created = await callFunction(calls, CREATE_CHANNEL, importOptions, [{ signal }]);
  const { reader, writer } = calls.channels.created(created);
  source.hasBegun = true;
  const failed = new AbortController();
  const answer = callFunction(calls, IMPORT, importOptions, [
    reader,
    onExisting,
    { signal: signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]), timeoutMs },
  ]) as Promise<ImportResult>;
  // If the import ends before all items were sent, for example with an error, no more items are needed. Later errors of
  // the items are then ignored.
  const over = answer.then(
    () => writer.abort("the import has ended"),
    () => writer.abort("the import failed"),
  );
  const sending = sendAll(writer, source.items).catch((error: unknown) => {
    writer.abort("the items to import failed");
    // The error of the import call is more useful than this one, because it names the line. So it is reported instead.
    if (isChannelClosed(error)) return;
    // If nothing was sent yet, the writer was never connected, so `abort` had no effect. The engine would wait for the
    // writer until the timeout, so the call is cancelled.
    failed.abort();
    throw error;
  });
  await Promise.race([sending, over]);
  return answer;
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
