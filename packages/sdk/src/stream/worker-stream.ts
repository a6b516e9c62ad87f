import { type HelperCalls, HelperMethods, ITEM_OPTIONS, itemsOfPages, wireMembers } from "../items/helper-methods.ts";
import type {
  ConditionOptions,
  HelperOptions,
  IterateOptions,
  Page,
  PageOptions,
  UpdateOptions,
  WriteOptions,
} from "../items/item-types.ts";
import type { UpdateOp } from "../items/update-op.ts";
import { withFirst } from "../items/with-first.ts";
import { checkedOptions, optionNames } from "../names/option-names.ts";
import type {
  StreamDeleteResult,
  StreamEntry,
  StreamListing,
  StreamNotice,
  StreamSetResult,
  StreamUpdateResult,
} from "./stream-types.ts";

const METHODS = /* @__PURE__ */ new HelperMethods("stream", {
  set: ITEM_OPTIONS.write,
  delete: ITEM_OPTIONS.condition,
  update: ITEM_OPTIONS.update,
  entries: ITEM_OPTIONS.iterate,
  entriesPage: ITEM_OPTIONS.page,
});
const GROUP_METHODS = [
  "set",
  "get",
  "getEntry",
  "delete",
  "update",
  "send",
  "list",
  "entries",
  "entriesPage",
] as const satisfies readonly (keyof StreamGroup)[];
const noticeMembers = optionNames("the notice of stream.send", ["id", "type", "data"]);

/**
 * Items by stream, group and id, whose changes are sent to all subscribers of the group (module `svc-stream`). Results
 * have the members of the results of the functions `stream::*`, in camelCase. All methods reject with CallError, as
 * `worker.call` does. A write whose `ifVersion` does not match rejects with `state_conflict`.
 */
export class WorkerStream {
  readonly #calls: HelperCalls;

  /** Internal: available as a member of a worker and of a handler's context. */
  constructor(calls: HelperCalls) {
    this.#calls = calls;
  }

  /** Returns one group, with the type of its items: `worker.stream.group<Todo>("todos", "mine")`. */
  group<Item = unknown>(streamName: string, groupId: string): StreamGroup<Item> {
    const methods = withFirst(this, [streamName, groupId], GROUP_METHODS);
    return { streamName, groupId, ...methods } as StreamGroup<Item>;
  }

  set<Item>(
    streamName: string,
    groupId: string,
    itemId: string,
    data: Item,
    options?: WriteOptions,
  ): Promise<StreamSetResult<Item>> {
    const payload = { ...address(streamName, groupId, itemId), ...wireMembers(options, ITEM_OPTIONS.write), data };
    return METHODS.result(this.#calls, "set", payload, options);
  }

  /** Returns the item, or null. */
  get<Item = unknown>(
    streamName: string,
    groupId: string,
    itemId: string,
    options?: HelperOptions,
  ): Promise<Item | null> {
    return METHODS.call(this.#calls, "get", address(streamName, groupId, itemId), options);
  }

  /** Returns the item with its version, or null. */
  getEntry<Item = unknown>(
    streamName: string,
    groupId: string,
    itemId: string,
    options?: HelperOptions,
  ): Promise<StreamEntry<Item> | null> {
    const payload = address(streamName, groupId, itemId);
    return METHODS.result(this.#calls, "getEntry", payload, options);
  }

  delete<Item = unknown>(
    streamName: string,
    groupId: string,
    itemId: string,
    options?: ConditionOptions,
  ): Promise<StreamDeleteResult<Item>> {
    const payload = { ...address(streamName, groupId, itemId), ...wireMembers(options, ITEM_OPTIONS.condition) };
    return METHODS.result(this.#calls, "delete", payload, options);
  }

  /**
   * Changes an item in the engine. An item that does not exist starts as `{}`. Failed operations are in `errors`: they
   * do not reject the call.
   */
  update<Item = unknown>(
    streamName: string,
    groupId: string,
    itemId: string,
    ops: readonly UpdateOp[],
    options?: UpdateOptions,
  ): Promise<StreamUpdateResult<Item>> {
    const payload = { ...address(streamName, groupId, itemId), ...wireMembers(options, ITEM_OPTIONS.update), ops };
    return METHODS.result(this.#calls, "update", payload, options, { errors: {} });
  }

  /** Sends a notice to the subscribers of the group. Not stored. */
  async send(streamName: string, groupId: string, notice: StreamNotice, options?: HelperOptions): Promise<void> {
    const { id, type, data = null } = checkedOptions(notice, noticeMembers);
    const payload = { stream_name: streamName, group_id: groupId, id, type, data };
    await METHODS.call(this.#calls, "send", payload, options);
  }

  /** Returns all items of a group, sorted by id. */
  list<Item = unknown>(streamName: string, groupId: string, options?: HelperOptions): Promise<readonly Item[]> {
    const payload = { stream_name: streamName, group_id: groupId };
    return METHODS.call(this.#calls, "list", payload, options);
  }

  /** Yields all items of a group with ids and versions, sorted by id, page by page. */
  entries<Item = unknown>(
    streamName: string,
    groupId: string,
    options: IterateOptions = {},
  ): AsyncGenerator<StreamEntry<Item>, void, void> {
    return itemsOfPages(
      (page) => this.entriesPage<Item>(streamName, groupId, page),
      options,
      METHODS.options("entries"),
    );
  }

  entriesPage<Item = unknown>(
    streamName: string,
    groupId: string,
    options?: PageOptions,
  ): Promise<Page<StreamEntry<Item>>> {
    const payload = { stream_name: streamName, group_id: groupId, ...wireMembers(options, ITEM_OPTIONS.page) };
    return METHODS.result(this.#calls, "entriesPage", payload, options, { items: {} }, "stream::entries");
  }

  /** Returns the non-empty groups of a stream. */
  listGroups(streamName: string, options?: HelperOptions): Promise<readonly string[]> {
    return METHODS.call(this.#calls, "listGroups", { stream_name: streamName }, options);
  }

  /** Returns all non-empty streams with their groups. */
  listAll(options?: HelperOptions): Promise<StreamListing> {
    return METHODS.result(this.#calls, "listAll", {}, options, { stream: {} });
  }
}

function address(streamName: string, groupId: string, itemId: string): Readonly<Record<string, string>> {
  return { stream_name: streamName, group_id: groupId, item_id: itemId };
}

/**
 * One group of a stream, with the type of its items. The methods are those of `WorkerStream` without stream and group.
 */
export interface StreamGroup<Item = unknown> {
  readonly streamName: string;
  readonly groupId: string;
  set(itemId: string, data: Item, options?: WriteOptions): Promise<StreamSetResult<Item>>;
  get(itemId: string, options?: HelperOptions): Promise<Item | null>;
  getEntry(itemId: string, options?: HelperOptions): Promise<StreamEntry<Item> | null>;
  delete(itemId: string, options?: ConditionOptions): Promise<StreamDeleteResult<Item>>;
  update(itemId: string, ops: readonly UpdateOp[], options?: UpdateOptions): Promise<StreamUpdateResult<Item>>;
  send(notice: StreamNotice, options?: HelperOptions): Promise<void>;
  list(options?: HelperOptions): Promise<readonly Item[]>;
  entries(options?: IterateOptions): AsyncGenerator<StreamEntry<Item>, void, void>;
  entriesPage(options?: PageOptions): Promise<Page<StreamEntry<Item>>>;
}
