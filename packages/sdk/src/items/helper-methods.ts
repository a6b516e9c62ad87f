import type { CallRequest } from "../calls/call-request.ts";
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

export type Members = Readonly<Record<string, unknown>>;

/** A method that calls a function of the engine. A list, which is shorter than an object in the bundles of pages. */
export type HelperMethod = readonly [
  functionId: string,
  /** Wire names of the arguments before the options, which become members of the payload. */
  takes: readonly string[],
  /** Returns what the method returns. Default: the function's result, unchanged. */
  returns?: ((result: unknown) => unknown) | undefined,
  /** Own options, which become members of the payload too. */
  options?: readonly string[] | undefined,
  /** Changes the payload. */
  payload?: (members: Members) => Members,
];

/** The methods of a helper that only call a function. */
export type HelperMethods<Helper> = { readonly [Name in keyof Helper]: HelperMethod };

/** Returns the options of a method, e.g. `state.set`. */
export function helperOptions(of: string, own: readonly string[] = []): OptionNames {
  return optionNames(of, [...own, "timeoutMs", "signal"], { timeout_ms: "timeoutMs" });
}

/**
 * Calls the function of a method. The result is not validated. Rejects with TypeError for unknown options.
 *
 * @param args the method's arguments. The options are the last.
 */
export async function callFunction(
  calls: HelperCalls,
  [functionId, takes, returns = (result) => result, options = [], payload = (members) => members]: HelperMethod,
  known: OptionNames,
  args: readonly unknown[],
): Promise<unknown> {
  const given = checkedOptions<HelperOptions>(args[takes.length] ?? {}, known);
  // The options come first: a value, which may be large, is last on the wire.
  const members = { ...wireMembers(given, options), ...Object.fromEntries(takes.map((name, at) => [name, args[at]])) };
  // Awaited, so that the stack of an error contains this helper and its caller.
  const result = await calls.call({
    function_id: functionId,
    payload: payload(members),
    timeoutMs: given.timeoutMs,
    signal: given.signal,
  });
  return returns(result);
}

/** Returns a class with these methods. `helper` is its name in messages, e.g. `state`. */
export function helperClass<Helper>(
  helper: string,
  methods: HelperMethods<Helper>,
): new (
  calls: HelperCalls,
) => Helper {
  class HelperClass {
    readonly #calls: HelperCalls;

    constructor(calls: HelperCalls) {
      this.#calls = calls;
    }

    static {
      for (const [name, method] of Object.entries<HelperMethod>(methods)) {
        const known = helperOptions(`${helper}.${name}`, method[3]);
        // Defined by its name, which the stacks of errors then contain.
        Object.assign(HelperClass.prototype, {
          async [name](this: HelperClass, ...args: readonly unknown[]) {
            return await callFunction(this.#calls, method, known, args);
          },
        });
      }
    }
  }
  return HelperClass as unknown as new (
    calls: HelperCalls,
  ) => Helper;
}

/** Returns a function that returns a result with its members in camelCase. `shape` are those that are converted too. */
export function converted(shape: ResultShape) {
  return (result: unknown): unknown => engineResult(result, shape);
}

/** Converts a result whose items are the engine's. */
export const withItems = /* @__PURE__ */ converted({ items: {} });
/** Converts the result of an update. */
export const withErrors = /* @__PURE__ */ converted({ errors: {} });

/** Returns a function that returns one member of a result, with its members in camelCase. */
export function memberOf(member: string) {
  return (result: unknown): unknown => engineResult((result as Members)[member]);
}

/** Returns nothing of the result. */
export function nothing(): void {}

/** Sends null for absent data: JSON would omit the member. */
export function dataOrNull({ data = null, ...members }: Members): Members {
  return { ...members, data };
}

/** Returns options under their wire names, if they are among `names`. JSON omits undefined members. */
export function wireMembers(options: object, names: readonly string[]): Members {
  return Object.fromEntries(names.map((name) => [snakeCase(name), (options as Members)[name]]));
}

/** Yields the items of all pages. Requests each page after the previous one was consumed. */
export async function* itemsOfPages<Item>(
  page: (options: PageOptions) => Promise<Page<Item>>,
  options: IterateOptions,
  method: string,
): AsyncGenerator<Item, void, void> {
  const { pageSize, ...rest } = checkedOptions(options, helperOptions(method, ITEM_OPTIONS.iterate));
  let cursor: string | undefined;
  do {
    const { items, cursor: next } = await page({ ...rest, cursor, limit: pageSize });
    yield* items;
    cursor = next ?? undefined;
  } while (cursor !== undefined);
}
