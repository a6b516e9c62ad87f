import {
  callEngine,
  callForResult,
  type HelperCalls,
  helperOptions,
  ITEM_OPTIONS,
  itemsOfPages,
  wireMembers,
} from "../items/call-engine.ts";
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
import { checkedOptions, optionNames } from "../names/option-names.ts";
import type {
  StreamDeleteResult,
  StreamEntry,
  StreamListing,
  StreamNotice,
  StreamSetResult,
  StreamUpdateResult,
} from "./stream-types.ts";

const OPTIONS = helperOptions("stream", {
  set: ITEM_OPTIONS.write,
  get: [],
  getEntry: [],
  delete: ITEM_OPTIONS.condition,
  update: ITEM_OPTIONS.update,
  send: [],
  list: [],
  entries: ITEM_OPTIONS.iterate,
  entriesPage: ITEM_OPTIONS.page,
  listGroups: [],
  listAll: [],
});
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
    return new StreamGroup<Item>(this, streamName, groupId);
  }

  set<Item>(
    streamName: string,
    groupId: string,
    itemId: string,
    data: Item,
    options?: WriteOptions,
  ): Promise<StreamSetResult<Item>> {
    const payload = { ...address(streamName, groupId, itemId), ...wireMembers(options, ITEM_OPTIONS.write), data };
    return callForResult(this.#calls, "stream::set", payload, options, OPTIONS.set);
  }

  /** Returns the item, or null. */
  get<Item = unknown>(
    streamName: string,
    groupId: string,
    itemId: string,
    options?: HelperOptions,
  ): Promise<Item | null> {
    return callEngine(this.#calls, "stream::get", address(streamName, groupId, itemId), options, OPTIONS.get);
  }

  /** Returns the item with its version, or null. */
  getEntry<Item = unknown>(
    streamName: string,
    groupId: string,
    itemId: string,
    options?: HelperOptions,
  ): Promise<StreamEntry<Item> | null> {
    const payload = address(streamName, groupId, itemId);
    return callForResult(this.#calls, "stream::get_entry", payload, options, OPTIONS.getEntry);
  }

  delete<Item = unknown>(
    streamName: string,
    groupId: string,
    itemId: string,
    options?: ConditionOptions,
  ): Promise<StreamDeleteResult<Item>> {
    const payload = { ...address(streamName, groupId, itemId), ...wireMembers(options, ITEM_OPTIONS.condition) };
    return callForResult(this.#calls, "stream::delete", payload, options, OPTIONS.delete);
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
    return callForResult(this.#calls, "stream::update", payload, options, OPTIONS.update, { errors: {} });
  }

  /** Sends a notice to the subscribers of the group. Not stored. */
  async send(streamName: string, groupId: string, notice: StreamNotice, options?: HelperOptions): Promise<void> {
    const { id, type, data = null } = checkedOptions(notice, noticeMembers);
    const payload = { stream_name: streamName, group_id: groupId, id, type, data };
    await callEngine(this.#calls, "stream::send", payload, options, OPTIONS.send);
  }

  /** Returns all items of a group, sorted by id. */
  list<Item = unknown>(streamName: string, groupId: string, options?: HelperOptions): Promise<readonly Item[]> {
    const payload = { stream_name: streamName, group_id: groupId };
    return callEngine(this.#calls, "stream::list", payload, options, OPTIONS.list);
  }

  /** Yields all items of a group with ids and versions, sorted by id, page by page. */
  entries<Item = unknown>(
    streamName: string,
    groupId: string,
    options: IterateOptions = {},
  ): AsyncGenerator<StreamEntry<Item>, void, void> {
    return itemsOfPages((page) => this.entriesPage<Item>(streamName, groupId, page), options, OPTIONS.entries);
  }

  entriesPage<Item = unknown>(
    streamName: string,
    groupId: string,
    options?: PageOptions,
  ): Promise<Page<StreamEntry<Item>>> {
    const payload = { stream_name: streamName, group_id: groupId, ...wireMembers(options, ITEM_OPTIONS.page) };
    return callForResult(this.#calls, "stream::entries", payload, options, OPTIONS.entriesPage, { items: {} });
  }

  /** Returns the non-empty groups of a stream. */
  listGroups(streamName: string, options?: HelperOptions): Promise<readonly string[]> {
    return callEngine(this.#calls, "stream::list_groups", { stream_name: streamName }, options, OPTIONS.listGroups);
  }

  /** Returns all non-empty streams with their groups. */
  listAll(options?: HelperOptions): Promise<StreamListing> {
    return callForResult(this.#calls, "stream::list_all", {}, options, OPTIONS.listAll, { stream: {} });
  }
}

function address(streamName: string, groupId: string, itemId: string): Readonly<Record<string, string>> {
  return { stream_name: streamName, group_id: groupId, item_id: itemId };
}

/**
 * One group of a stream, with the type of its items. The methods are those of `WorkerStream` without stream and group.
 */
export class StreamGroup<Item = unknown> {
  readonly streamName: string;
  readonly groupId: string;
  readonly #stream: WorkerStream;

  /** Internal: `worker.stream.group(streamName, groupId)` creates it. */
  constructor(stream: WorkerStream, streamName: string, groupId: string) {
    this.#stream = stream;
    this.streamName = streamName;
    this.groupId = groupId;
  }

  set(itemId: string, data: Item, options?: WriteOptions): Promise<StreamSetResult<Item>> {
    return this.#stream.set<Item>(this.streamName, this.groupId, itemId, data, options);
  }

  get(itemId: string, options?: HelperOptions): Promise<Item | null> {
    return this.#stream.get<Item>(this.streamName, this.groupId, itemId, options);
  }

  getEntry(itemId: string, options?: HelperOptions): Promise<StreamEntry<Item> | null> {
    return this.#stream.getEntry<Item>(this.streamName, this.groupId, itemId, options);
  }

  delete(itemId: string, options?: ConditionOptions): Promise<StreamDeleteResult<Item>> {
    return this.#stream.delete<Item>(this.streamName, this.groupId, itemId, options);
  }

  update(itemId: string, ops: readonly UpdateOp[], options?: UpdateOptions): Promise<StreamUpdateResult<Item>> {
    return this.#stream.update<Item>(this.streamName, this.groupId, itemId, ops, options);
  }

  send(notice: StreamNotice, options?: HelperOptions): Promise<void> {
    return this.#stream.send(this.streamName, this.groupId, notice, options);
  }

  list(options?: HelperOptions): Promise<readonly Item[]> {
    return this.#stream.list<Item>(this.streamName, this.groupId, options);
  }

  entries(options?: IterateOptions): AsyncGenerator<StreamEntry<Item>, void, void> {
    return this.#stream.entries<Item>(this.streamName, this.groupId, options);
  }

  entriesPage(options?: PageOptions): Promise<Page<StreamEntry<Item>>> {
    return this.#stream.entriesPage<Item>(this.streamName, this.groupId, options);
  }
}
