import {
  converted,
  helperClass,
  ITEM_OPTIONS,
  itemsOfPages,
  nothing,
  withErrors,
  withItems,
} from "../items/helper-methods.ts";
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
import { engineResult } from "../names/engine-result.ts";
import { checkedOptions, optionNames } from "../names/option-names.ts";
import type {
  StreamDeleteResult,
  StreamEntry,
  StreamListing,
  StreamNotice,
  StreamSetResult,
  StreamUpdateResult,
} from "./stream-types.ts";

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

const GROUP = ["stream_name", "group_id"];
const ITEM = [...GROUP, "item_id"];

interface StreamMethods {
  set<Item>(
    streamName: string,
    groupId: string,
    itemId: string,
    data: Item,
    options?: WriteOptions,
  ): Promise<StreamSetResult<Item>>;
  /** Returns the item. Returns null if it does not exist. */
  get<Item = unknown>(
    streamName: string,
    groupId: string,
    itemId: string,
    options?: HelperOptions,
  ): Promise<Item | null>;
  /** Returns the item with its version. Returns null if it does not exist. */
  getEntry<Item = unknown>(
    streamName: string,
    groupId: string,
    itemId: string,
    options?: HelperOptions,
  ): Promise<StreamEntry<Item> | null>;
  delete<Item = unknown>(
    streamName: string,
    groupId: string,
    itemId: string,
    options?: ConditionOptions,
  ): Promise<StreamDeleteResult<Item>>;
  /**
   * Changes an item in the engine. If the item does not exist, the operations start with `{}`. Operations that fail are
   * listed in `errors` of the result; the call does not reject because of them.
   */
  update<Item = unknown>(
    streamName: string,
    groupId: string,
    itemId: string,
    ops: readonly UpdateOp[],
    options?: UpdateOptions,
  ): Promise<StreamUpdateResult<Item>>;
  /** Sends a notice to the subscribers of the group. It is not stored. */
  send(streamName: string, groupId: string, notice: StreamNotice, options?: HelperOptions): Promise<void>;
  /** Returns all items of a group, sorted by id. */
  list<Item = unknown>(streamName: string, groupId: string, options?: HelperOptions): Promise<readonly Item[]>;
  entriesPage<Item = unknown>(
    streamName: string,
    groupId: string,
    options?: PageOptions,
  ): Promise<Page<StreamEntry<Item>>>;
  /** Returns the groups of a stream that are not empty. */
  listGroups(streamName: string, options?: HelperOptions): Promise<readonly string[]>;
  /** Returns all streams that are not empty, with their groups. */
  listAll(options?: HelperOptions): Promise<StreamListing>;
}

/**
 * Items by stream, group and id. Their changes are sent to all subscribers of the group (module `svc-stream`). Results
 * have the same members as the results of the functions `stream::*`, in camelCase. All methods reject with CallError,
 * like `worker.call`. A write whose `ifVersion` does not match rejects with `state_conflict`.
 */
export class WorkerStream extends /* @__PURE__ */ helperClass<StreamMethods>("stream", {
  set: ["stream::set", [...ITEM, "data"], engineResult, ITEM_OPTIONS.write],
  get: ["stream::get", ITEM],
  getEntry: ["stream::get_entry", ITEM, engineResult],
  delete: ["stream::delete", ITEM, engineResult, ITEM_OPTIONS.condition],
  update: ["stream::update", [...ITEM, "ops"], withErrors, ITEM_OPTIONS.update],
  send: [
    "stream::send",
    [...GROUP, "notice"],
    nothing,
    undefined,
    ({ notice, ...group }) => {
      const { id, type, data = null } = checkedOptions(notice as StreamNotice, noticeMembers);
      return { ...group, id, type, data };
    },
  ],
  list: ["stream::list", GROUP],
  entriesPage: ["stream::entries", GROUP, withItems, ITEM_OPTIONS.page],
  listGroups: ["stream::list_groups", ["stream_name"]],
  listAll: ["stream::list_all", [], /* @__PURE__ */ converted({ stream: {} })],
}) {
  /**
   * Returns an object for one group. Its type parameter declares the type of the items:
   * `worker.stream.group<Todo>("todos", "mine")`.
   */
  group<Item = unknown>(streamName: string, groupId: string): StreamGroup<Item> {
    const methods = withFirst(this, [streamName, groupId], GROUP_METHODS);
    return { streamName, groupId, ...methods } as StreamGroup<Item>;
  }

  /** Yields all items of a group with their ids and versions, sorted by id. Requests them page by page. */
  entries<Item = unknown>(
    streamName: string,
    groupId: string,
    options: IterateOptions = {},
  ): AsyncGenerator<StreamEntry<Item>, void, void> {
    return itemsOfPages((page) => this.entriesPage<Item>(streamName, groupId, page), options, "stream.entries");
  }
}

/**
 * One group of a stream, with the type of its items. The methods are those of `WorkerStream`, without the arguments for
 * stream and group.
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
