import type { CallRequest } from "../calls/call-request.ts";
import type { Channels } from "../channels/channels.ts";
import { snakeCase } from "../names/case.ts";
import { engineResult, type ResultShape } from "../names/engine-result.ts";
import { checkedOptions, type OptionNames, optionNames } from "../names/option-names.ts";
import type { HelperOptions, IterateOptions, Page, PageOptions } from "./item-types.ts";

/**
 * Makes the calls of the helpers. A worker implements it, and so does the context of a handler, which makes the calls
 * within the handler's call.
 */
export interface HelperCalls {
  call(request: CallRequest): Promise<unknown>;
  readonly channels: Pick<Channels, "created" | "end">;
}

/** Names of the options of methods, grouped by purpose. */
export const ITEM_OPTIONS = {
  condition: ["ifVersion"],
  write: ["ifVersion", "expiresInMs"],
  update: ["ifVersion", "expiresInMs", "atomic"],
  page: ["prefix", "cursor", "limit"],
  iterate: ["prefix", "pageSize"],
} as const;

export type Members = Readonly<Record<string, unknown>>;

/**
 * A method that calls a function of the engine. It is a list instead of an object, because a list is shorter in the
 * bundles of pages.
 */
export type HelperMethod = readonly [
  functionId: string,
  /** Wire names of the arguments that come before the options. The arguments become members of the payload. */
  takes: readonly string[],
  /** Converts the function's result. By default, the result is unchanged. */
  returns?: ((result: unknown) => unknown) | undefined,
  /** Names of the method's own options. They become members of the payload too. */
  options?: readonly string[] | undefined,
  /** Changes the payload before it is sent. */
  payload?: (members: Members) => Members,
];

/** The methods of a helper that do nothing else than call a function. */
export type HelperMethods<Helper> = { readonly [Name in keyof Helper]: HelperMethod };

/** Returns the options of a method, e.g. `state.set`. */
export function helperOptions(of: string, own: readonly string[] = []): OptionNames {
  return optionNames(of, [...own, "timeoutMs", "signal"], { timeout_ms: "timeoutMs" });
}

/**
 * Calls the function of a method. The result is not validated. Rejects with TypeError for unknown options.
 *
 * @param args Arguments of the method. The last one is the options.
 */
export async function callFunction(
  calls: HelperCalls,
  [functionId, takes, returns = (result) => result, options = [], payload = (members) => members]: HelperMethod,
  known: OptionNames,
  args: readonly unknown[],
): Promise<unknown> {
  const given = checkedOptions<HelperOptions>(args[takes.length] ?? {}, known);
  // The options come first, so that a value, which may be large, is last on the wire.
  const members = { ...wireMembers(given, options), ...Object.fromEntries(takes.map((name, at) => [name, args[at]])) };
  // The call is awaited, so that the stack of an error contains this helper and its caller.
  const result = await calls.call({
    function_id: functionId,
    payload: payload(members),
    timeoutMs: given.timeoutMs,
    signal: given.signal,
  });
  return returns(result);
}

/** Returns a class with these methods. `helper` is its name in messages, for example `state`. */
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
        // The method is defined under its name, so that stacks of errors contain this name.
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

/**
 * Returns a function that converts the members of a result to camelCase. `shape` lists the members whose own members
 * are converted too.
 */
export function converted(shape: ResultShape) {
  return (result: unknown): unknown => engineResult(result, shape);
}

/** Converts a result with items that the engine defines. */
export const withItems = /* @__PURE__ */ converted({ items: {} });
/** Converts the result of an update. */
export const withErrors = /* @__PURE__ */ converted({ errors: {} });

/** Returns a function that returns one member of a result. The members of this member are converted to camelCase. */
export function memberOf(member: string) {
  return (result: unknown): unknown => engineResult((result as Members)[member]);
}

/** Ignores the result. */
export function nothing(): void {}

/** Replaces absent data by null, because JSON would omit the member. */
export function dataOrNull({ data = null, ...members }: Members): Members {
  return { ...members, data };
}

/** Returns the options that are among `names`, under their wire names. JSON omits undefined members. */
export function wireMembers(options: object, names: readonly string[]): Members {
  return Object.fromEntries(names.map((name) => [snakeCase(name), (options as Members)[name]]));
}

/** Yields the items of all pages. The next page is requested only after all items of the page before were consumed. */
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
