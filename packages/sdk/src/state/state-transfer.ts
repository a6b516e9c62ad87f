import type { ReadRef } from "../channels/channel-reader.ts";
import type { ChannelItem } from "../channels/channel-socket.ts";
import type { ChannelWriter } from "../channels/channel-writer.ts";
import { ask, type HelperCalls } from "../items/helper-calls.ts";
import type { ExportOptions, ImportItem, ImportOptions, ImportResult } from "./state-types.ts";

/** An import is answered when its last line is stored, so it may take long. In milliseconds. */
const IMPORT_TIMEOUT_MS = 3_600_000;
/** Lines are sent together up to about so many bytes. */
const BATCH_BYTES = 32 * 1024;

/** The lines of an export, without their ends. The export is asked for at the first one; leaving the loop early stops it. */
export async function* exportedLines(calls: HelperCalls, { scope, prefix, ...options }: ExportOptions): AsyncGenerator<string, void, void> {
  const { lines } = await ask<{ readonly lines: ReadRef }>(calls, "state::export", { scope, prefix }, options);
  const reader = calls.channels.end(lines) as AsyncIterable<ChannelItem>;
  yield* linesOf(reader);
}

/** Splits what comes at line ends, wherever items of the channel end. Empty lines are left out. */
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

/** Sends items to `state::import`, as fast as it takes them. When the items themselves fail, the import is broken off and their error is thrown. */
export async function importItems(calls: HelperCalls, items: Items, { onExisting, ...options }: ImportOptions): Promise<ImportResult> {
  const { signal, timeout_ms = IMPORT_TIMEOUT_MS } = options;
  const begun = beginning(items);
  const created = await ask(calls, "engine::channels::create", {}, { signal }).catch(async (error: unknown) => {
    await begun.giveUp();
    throw error;
  });
  const { reader, writer } = calls.channels.created(created);
  const answer = ask<ImportResult>(calls, "state::import", { lines: reader, on_existing: onExisting }, { signal, timeout_ms });
  // An import that is answered early, as by an error, wants no more lines; what the items do then is of no interest.
  const over = answer.then(
    () => writer.abort("the import was answered"),
    () => writer.abort("the import failed"),
  );
  const sending = sendAll(writer, begun.items).catch((error: unknown) => {
    writer.abort("the items that were to be imported failed");
    // What the engine says about a line is worth more than that it stopped reading.
    if (!isChannelClosed(error)) throw error;
  });
  await Promise.race([sending, over]);
  return answer;
}

type Items = Iterable<ImportItem> | AsyncIterable<ImportItem>;

/** Takes the iterator before anything is awaited: the lines of node:readline flow from the start, and those that nobody listens to are lost. */
function beginning(items: Items): { readonly items: Items; giveUp(): Promise<void> } {
  if (!(Symbol.asyncIterator in items)) return { items, giveUp: async () => {} };
  const iterator = items[Symbol.asyncIterator]();
  return {
    items: { [Symbol.asyncIterator]: () => iterator },
    giveUp: async () => {
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
