import type { CallRequest } from "../calls.ts";
import type { Channels } from "../channels/channels.ts";
import type { HelperOptions, IterateOptions, Page, PageOptions, UpdateOptions, WriteOptions } from "./item-types.ts";

/** Calls of the helpers: as a worker makes them, or as a handler makes them within its call. */
export interface HelperCalls {
  call(request: CallRequest): Promise<unknown>;
  readonly channels: Pick<Channels, "created" | "end">;
}

/** Calls a function of the engine. The result is not validated. */
export function callEngine<Result>(
  calls: HelperCalls,
  functionId: string,
  payload: unknown,
  { timeout_ms, signal }: HelperOptions = {},
): Promise<Result> {
  return calls.call({ function_id: functionId, payload, timeout_ms, signal }) as Promise<Result>;
}

/** Options under their wire names. JSON omits undefined members. */
export function conditionMembers({ ifVersion, expiresInMs }: WriteOptions): Readonly<Record<string, unknown>> {
  return { if_version: ifVersion, expires_in_ms: expiresInMs };
}

export function updateMembers(options: UpdateOptions): Readonly<Record<string, unknown>> {
  return { ...conditionMembers(options), atomic: options.atomic };
}

export function pageMembers({ prefix, cursor, limit }: PageOptions): Readonly<Record<string, unknown>> {
  return { prefix, cursor, limit };
}

/** Yields the items of all pages. Requests each page after the previous one was consumed. */
export async function* itemsOfPages<Item>(
  page: (options: PageOptions) => Promise<Page<Item>>,
  options: IterateOptions,
): AsyncGenerator<Item, void, void> {
  const { pageSize, ...rest } = options;
  let cursor: string | undefined;
  do {
    const { items, cursor: next } = await page({ ...rest, cursor, limit: pageSize });
    yield* items;
    cursor = next ?? undefined;
  } while (cursor !== undefined);
}
