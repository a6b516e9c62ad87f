import {
  callEngine,
  conditionMembers,
  type HelperCalls,
  itemsOfPages,
  pageMembers,
  updateMembers,
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
import { StreamGroup } from "./stream-group.ts";
import type {
  StreamDeleteResult,
  StreamEntry,
  StreamListing,
  StreamNotice,
  StreamSetResult,
  StreamUpdateResult,
} from "./stream-types.ts";

/**
 * Items by stream, group and id, whose changes are sent to all subscribers of the group (module `svc-stream`). Results
 * have the members of the results of the functions `stream::*`. All methods reject with CallError, as `worker.call`
 * does. A write whose `ifVersion` does not match rejects with `state_conflict`.
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
    options: WriteOptions = {},
  ): Promise<StreamSetResult<Item>> {
    return callEngine(
      this.#calls,
      "stream::set",
      { ...address(streamName, groupId, itemId), ...conditionMembers(options), data },
      options,
    );
  }

  /** Returns the item, or null. */
  get<Item = unknown>(
    streamName: string,
    groupId: string,
    itemId: string,
    options?: HelperOptions,
  ): Promise<Item | null> {
    return callEngine(this.#calls, "stream::get", address(streamName, groupId, itemId), options);
  }

  /** Returns the item with its version, or null. */
  getEntry<Item = unknown>(
    streamName: string,
    groupId: string,
    itemId: string,
    options?: HelperOptions,
  ): Promise<StreamEntry<Item> | null> {
    return callEngine(this.#calls, "stream::get_entry", address(streamName, groupId, itemId), options);
  }

  delete<Item = unknown>(
    streamName: string,
    groupId: string,
    itemId: string,
    options: ConditionOptions = {},
  ): Promise<StreamDeleteResult<Item>> {
    return callEngine(
      this.#calls,
      "stream::delete",
      { ...address(streamName, groupId, itemId), ...conditionMembers(options) },
      options,
    );
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
    options: UpdateOptions = {},
  ): Promise<StreamUpdateResult<Item>> {
    return callEngine(
      this.#calls,
      "stream::update",
      { ...address(streamName, groupId, itemId), ...updateMembers(options), ops },
      options,
    );
  }

  /** Sends a notice to the subscribers of the group. Not stored. */
  async send(
    streamName: string,
    groupId: string,
    { id, type, data = null }: StreamNotice,
    options?: HelperOptions,
  ): Promise<void> {
    await callEngine(
      this.#calls,
      "stream::send",
      { stream_name: streamName, group_id: groupId, id, type, data },
      options,
    );
  }

  /** Returns all items of a group, sorted by id. */
  list<Item = unknown>(streamName: string, groupId: string, options?: HelperOptions): Promise<readonly Item[]> {
    return callEngine(this.#calls, "stream::list", { stream_name: streamName, group_id: groupId }, options);
  }

  /** Yields all items of a group with ids and versions, sorted by id, page by page. */
  entries<Item = unknown>(
    streamName: string,
    groupId: string,
    options: IterateOptions = {},
  ): AsyncGenerator<StreamEntry<Item>, void, void> {
    return itemsOfPages((page) => this.entriesPage<Item>(streamName, groupId, page), options);
  }

  entriesPage<Item = unknown>(
    streamName: string,
    groupId: string,
    options: PageOptions = {},
  ): Promise<Page<StreamEntry<Item>>> {
    return callEngine(
      this.#calls,
      "stream::entries",
      { stream_name: streamName, group_id: groupId, ...pageMembers(options) },
      options,
    );
  }

  /** Returns the non-empty groups of a stream. */
  listGroups(streamName: string, options?: HelperOptions): Promise<readonly string[]> {
    return callEngine(this.#calls, "stream::list_groups", { stream_name: streamName }, options);
  }

  /** Returns all non-empty streams with their groups. */
  listAll(options?: HelperOptions): Promise<StreamListing> {
    return callEngine(this.#calls, "stream::list_all", {}, options);
  }
}

function address(streamName: string, groupId: string, itemId: string): Readonly<Record<string, string>> {
  return { stream_name: streamName, group_id: groupId, item_id: itemId };
}
