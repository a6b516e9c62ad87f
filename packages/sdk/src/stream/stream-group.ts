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
import type {
  StreamDeleteResult,
  StreamEntry,
  StreamNotice,
  StreamSetResult,
  StreamUpdateResult,
} from "./stream-types.ts";
import type { WorkerStream } from "./worker-stream.ts";

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
