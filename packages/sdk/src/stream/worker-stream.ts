import { ask, conditionOf, type HelperCalls, itemsOfPages, pageChoices, updateChoices } from "../items/helper-calls.ts";
import type { ConditionOptions, HelperOptions, IterateOptions, Page, PageOptions, UpdateOptions, WriteOptions } from "../items/item-types.ts";
import type { UpdateOp } from "../items/update-op.ts";
import { StreamGroup } from "./stream-group.ts";
import type { StreamDeleteResult, StreamEntry, StreamListing, StreamNotice, StreamSetResult, StreamUpdateResult } from "./stream-types.ts";

/**
 * Streams, kept by the module `svc-stream`: items by stream, group and id, whose changes reach everyone who has joined the group. Results have
 * the members that the functions `stream::*` answer. All of it rejects with CallError, as `worker.call` does; a write whose `ifVersion` does
 * not hold, with `state_conflict`.
 */
export class WorkerStream {
  readonly #calls: HelperCalls;

  /** Not for users: a worker has one, and so has a handler's context. */
  constructor(calls: HelperCalls) {
    this.#calls = calls;
  }

  /** One group, with the type of its items: `worker.stream.group<Todo>("todos", "mine")`. */
  group<Item = unknown>(streamName: string, groupId: string): StreamGroup<Item> {
    return new StreamGroup<Item>(this, streamName, groupId);
  }

  set<Item>(streamName: string, groupId: string, itemId: string, data: Item, options: WriteOptions = {}): Promise<StreamSetResult<Item>> {
    return ask(this.#calls, "stream::set", { ...address(streamName, groupId, itemId), ...conditionOf(options), data }, options);
  }

  /** The item, or null. */
  get<Item = unknown>(streamName: string, groupId: string, itemId: string, options?: HelperOptions): Promise<Item | null> {
    return ask(this.#calls, "stream::get", address(streamName, groupId, itemId), options);
  }

  /** The item with its version, or null. */
  getEntry<Item = unknown>(streamName: string, groupId: string, itemId: string, options?: HelperOptions): Promise<StreamEntry<Item> | null> {
    return ask(this.#calls, "stream::get_entry", address(streamName, groupId, itemId), options);
  }

  delete<Item = unknown>(streamName: string, groupId: string, itemId: string, options: ConditionOptions = {}): Promise<StreamDeleteResult<Item>> {
    return ask(this.#calls, "stream::delete", { ...address(streamName, groupId, itemId), ...conditionOf(options) }, options);
  }

  /** Changes an item where it lies; one that does not exist begins as `{}`. Operations that fail are in `errors`: it does not reject for them. */
  update<Item = unknown>(
    streamName: string,
    groupId: string,
    itemId: string,
    ops: readonly UpdateOp[],
    options: UpdateOptions = {},
  ): Promise<StreamUpdateResult<Item>> {
    return ask(this.#calls, "stream::update", { ...address(streamName, groupId, itemId), ...updateChoices(options), ops }, options);
  }

  /** Sends something to those who have joined the group; nothing is stored. */
  async send(streamName: string, groupId: string, { id, type, data = null }: StreamNotice, options?: HelperOptions): Promise<void> {
    await ask(this.#calls, "stream::send", { stream_name: streamName, group_id: groupId, id, type, data }, options);
  }

  /** All items of a group, in the order of their ids. */
  list<Item = unknown>(streamName: string, groupId: string, options?: HelperOptions): Promise<readonly Item[]> {
    return ask(this.#calls, "stream::list", { stream_name: streamName, group_id: groupId }, options);
  }

  /** All items of a group with their ids and versions, in the order of the ids, page by page. */
  entries<Item = unknown>(streamName: string, groupId: string, options: IterateOptions = {}): AsyncGenerator<StreamEntry<Item>, void, void> {
    return itemsOfPages((page) => this.entriesPage<Item>(streamName, groupId, page), options);
  }

  entriesPage<Item = unknown>(streamName: string, groupId: string, options: PageOptions = {}): Promise<Page<StreamEntry<Item>>> {
    return ask(this.#calls, "stream::entries", { stream_name: streamName, group_id: groupId, ...pageChoices(options) }, options);
  }

  /** The groups of a stream that hold something. */
  listGroups(streamName: string, options?: HelperOptions): Promise<readonly string[]> {
    return ask(this.#calls, "stream::list_groups", { stream_name: streamName }, options);
  }

  /** All streams that hold something, with their groups. */
  listAll(options?: HelperOptions): Promise<StreamListing> {
    return ask(this.#calls, "stream::list_all", {}, options);
  }
}

function address(streamName: string, groupId: string, itemId: string): Readonly<Record<string, string>> {
  return { stream_name: streamName, group_id: groupId, item_id: itemId };
}
