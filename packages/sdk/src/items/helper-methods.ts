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

interface Method {
  readonly functionId: string;
  readonly options: OptionNames;
}

/**
 * The methods of a helper. Each calls the function of its name in snake_case: `getEntry` of the helper `state` calls
 * `state::get_entry`, unless it names another function.
 */
export class HelperMethods {
  readonly #helper: string;
  readonly #own: Readonly<Record<string, readonly string[]>>;
  readonly #methods = new Map<string, Method>();

  /** `own` are the options by method, besides those of every method. */
  constructor(helper: string, own: Readonly<Record<string, readonly string[]>>) {
    this.#helper = helper;
    this.#own = own;
  }

  /** The options of a method. */
  options(method: string): OptionNames {
    return this.#method(method).options;
  }

  /**
   * Calls the function of a method. Returns its result unchanged. The result is not validated. Rejects with TypeError
   * for unknown options.
   */
  async call<Result>(
    calls: HelperCalls,
    method: string,
    payload: unknown,
    given: HelperOptions | undefined,
    otherFunction?: string,
  ): Promise<Result> {
    const { functionId, options } = this.#method(method);
    const { timeoutMs, signal } = checkedOptions<HelperOptions>(given ?? {}, options);
    const function_id = otherFunction ?? functionId;
    // Awaited, so that the stack of an error contains this helper and its caller.
    return (await calls.call({ function_id, payload, timeoutMs, signal })) as Result;
  }

  /** As `call`, with the members of the result in camelCase. `shape` are those whose members are converted too. */
  async result<Result>(
    calls: HelperCalls,
    method: string,
    payload: unknown,
    given: HelperOptions | undefined,
    shape: ResultShape = {},
    otherFunction?: string,
  ): Promise<Result> {
    return engineResult(await this.call(calls, method, payload, given, otherFunction), shape) as Result;
  }

  #method(name: string): Method {
    let method = this.#methods.get(name);
    if (method === undefined) {
      const options = [...(this.#own[name] ?? []), "timeoutMs", "signal"];
      method = {
        functionId: `${this.#helper}::${snakeCase(name)}`,
        options: optionNames(`${this.#helper}.${name}`, options, { timeout_ms: "timeoutMs" }),
      };
      this.#methods.set(name, method);
    }
    return method;
  }
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
