import type { CallRequest } from "../call-request.ts";
import type { Channels } from "../channels/channels.ts";
import { snakeCase } from "../names/case.ts";
import { engineResult, type ResultShape } from "../names/engine-result.ts";
import { checkedOptions, type OptionNames, optionNames } from "../names/option-names.ts";
import type { HelperOptions, IterateOptions, Page, PageOptions } from "./item-types.ts";

/** Calls of the helpers: as a worker makes them, or as a handler makes them within its call. */
export interface HelperCalls {
  call(request: CallRequest): Promise<unknown>;
  readonly channels: Pick<Channels, "created" | "end">;
}

/** Options of methods, by what they do. */
export const ITEM_OPTIONS = {
  condition: ["ifVersion"],
  write: ["ifVersion", "expiresInMs"],
  update: ["ifVersion", "expiresInMs", "atomic"],
  page: ["prefix", "cursor", "limit"],
  iterate: ["prefix", "pageSize"],
} as const;

/** Returns the options of each method of a helper. `own` are those besides the options of every helper. */
export function helperOptions<const Method extends string>(
  helper: string,
  own: Readonly<Record<Method, readonly string[]>>,
): Readonly<Record<Method, OptionNames>> {
  const table: Partial<Record<Method, OptionNames>> = {};
  for (const method in own) {
    table[method] = optionNames(`${helper}.${method}`, [...own[method], "timeoutMs", "signal"], {
      timeout_ms: "timeoutMs",
    });
  }
  return table as Record<Method, OptionNames>;
}

/**
 * Calls a function of the engine. Returns its result unchanged. The result is not validated. Rejects with TypeError for
 * unknown options.
 */
export async function callEngine<Result>(
  calls: HelperCalls,
  functionId: string,
  payload: unknown,
  options: HelperOptions | undefined,
  known: OptionNames,
): Promise<Result> {
  const { timeoutMs, signal } = checkedOptions<HelperOptions>(options ?? {}, known);
  // Awaited, so that the stack of an error contains this helper and its caller.
  return (await calls.call({ function_id: functionId, payload, timeoutMs, signal })) as Result;
}

/** As `callEngine`, with the members of the result in camelCase. `shape` are those whose members are converted too. */
export async function callForResult<Result>(
  calls: HelperCalls,
  functionId: string,
  payload: unknown,
  options: HelperOptions | undefined,
  known: OptionNames,
  shape: ResultShape = {},
): Promise<Result> {
  return engineResult(await callEngine(calls, functionId, payload, options, known), shape) as Result;
}

/** Returns options under their wire names, if they are among `names`. JSON omits undefined members. */
export function wireMembers(options: object | undefined, names: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    names.map((name) => [snakeCase(name), (options as Readonly<Record<string, unknown>> | undefined)?.[name]]),
  );
}

/** Yields the items of all pages. Requests each page after the previous one was consumed. */
export async function* itemsOfPages<Item>(
  page: (options: PageOptions) => Promise<Page<Item>>,
  options: IterateOptions,
  known: OptionNames,
): AsyncGenerator<Item, void, void> {
  const { pageSize, ...rest } = checkedOptions(options, known);
  let cursor: string | undefined;
  do {
    const { items, cursor: next } = await page({ ...rest, cursor, limit: pageSize });
    yield* items;
    cursor = next ?? undefined;
  } while (cursor !== undefined);
}
