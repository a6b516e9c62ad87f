import type { CallRequest } from "../calls.ts";
import type { Channels } from "../channels/channels.ts";
import type { HelperOptions, IterateOptions, Page, PageOptions, UpdateOptions, WriteOptions } from "./item-types.ts";

/** How helpers reach the engine: as a worker does, or as a handler does within its call. */
export interface HelperCalls {
  call(request: CallRequest): Promise<unknown>;
  readonly channels: Pick<Channels, "created" | "end">;
}

/** Calls a function of the engine; the answer is taken at the engine's word. */
export function ask<Result>(calls: HelperCalls, functionId: string, payload: unknown, { timeout_ms, signal }: HelperOptions = {}): Promise<Result> {
  return calls.call({ function_id: functionId, payload, timeout_ms, signal }) as Promise<Result>;
}

/** Options as the wire names them; JSON leaves out what is undefined. */
export function conditionOf({ ifVersion, expiresInMs }: WriteOptions): Readonly<Record<string, unknown>> {
  return { if_version: ifVersion, expires_in_ms: expiresInMs };
}

export function updateChoices(options: UpdateOptions): Readonly<Record<string, unknown>> {
  return { ...conditionOf(options), atomic: options.atomic };
}

export function pageChoices({ prefix, cursor, limit }: PageOptions): Readonly<Record<string, unknown>> {
  return { prefix, cursor, limit };
}

/** The items of all pages, each page asked for when the one before is through. */
export async function* itemsOfPages<Item>(page: (options: PageOptions) => Promise<Page<Item>>, options: IterateOptions): AsyncGenerator<Item, void, void> {
  const { pageSize, ...rest } = options;
  let cursor: string | undefined;
  do {
    const { items, cursor: next } = await page({ ...rest, cursor, limit: pageSize });
    yield* items;
    cursor = next ?? undefined;
  } while (cursor !== undefined);
}
