import { CallError } from "@svc-runtime/protocol";
import { STREAMS_REFUSED } from "./engine-link.ts";
import type { TopicListener } from "./live-topics.ts";

/** Time between the end of a poll and the start of the next, in milliseconds. */
const POLL_INTERVAL_MS = 5_000;

/** Calls a function of the engine and returns its parsed result. */
type Call = (functionId: string, input: Readonly<Record<string, unknown>>) => Promise<unknown>;
type Row = Readonly<Record<string, unknown>>;

/** A function whose result replaces one of the engine's streams. */
interface Listing {
  readonly functionId: string;
  /** Member of the result that holds the rows. */
  readonly member: string;
  /** Member of a row that has its id. */
  readonly key: string;
  /** True if the rows lack `internal`, which the items of the stream have. */
  readonly lacksInternal: boolean;
}

const LISTINGS = new Map<string, Listing>([
  ["svc.workers", { functionId: "engine::workers::list", member: "workers", key: "id", lacksInternal: false }],
  [
    "svc.functions",
    { functionId: "engine::functions::list", member: "functions", key: "function_id", lacksInternal: true },
  ],
  [
    "svc.triggers",
    { functionId: "engine::registered-triggers::list", member: "registered_triggers", key: "id", lacksInternal: true },
  ],
]);

/**
 * Provides the engine's lists of workers, functions and triggers by polling. It is used for tokens that may not join
 * streams. It rejects all other streams.
 */
export class PolledTopics {
  readonly #call: Call;
  readonly #topics = new Map<string, PolledTopic>();

  constructor(call: Call) {
    this.#call = call;
  }

  /** Polls a list for a listener, until the returned function is called. */
  join(stream: string, group: string, listener: TopicListener): () => void {
    const listing = group === "all" ? LISTINGS.get(stream) : undefined;
    if (listing === undefined) {
      listener.status("refused", STREAMS_REFUSED);
      return () => {};
    }
    const topic = this.#topics.get(stream) ?? new PolledTopic(() => itemsOf(listing, this.#call));
    this.#topics.set(stream, topic);
    return topic.add(listener);
  }

  close(): void {
    for (const topic of this.#topics.values()) topic.close();
  }
}

/** One list. It is polled once for all its listeners, and only while it has listeners. */
class PolledTopic {
  readonly #poll: () => Promise<readonly Row[]>;
  readonly #listeners = new Set<TopicListener>();
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;
  /** Passes the result of the last poll to a listener. */
  #outcome: ((listener: TopicListener) => void) | undefined;

  constructor(poll: () => Promise<readonly Row[]>) {
    this.#poll = poll;
  }

  add(listener: TopicListener): () => void {
    // A copy is stored, so that the same listener can be added twice.
    const entry: TopicListener = { ...listener };
    this.#listeners.add(entry);
    if (this.#outcome === undefined) {
      entry.status("joining", null);
      void this.#run();
    } else this.#outcome(entry);
    return () => {
      this.#listeners.delete(entry);
      if (this.#listeners.size === 0) this.close();
    };
  }

  close(): void {
    this.#listeners.clear();
    clearTimeout(this.#timer);
    this.#outcome = undefined;
  }

  async #run(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    clearTimeout(this.#timer);
    let outcome: (listener: TopicListener) => void;
    try {
      const items = await this.#poll();
      outcome = ({ status, sync }) => {
        status("live", null);
        sync(items, null);
      };
    } catch (error) {
      const reason = CallError.from(error).message;
      outcome = ({ status }) => status("refused", reason);
    }
    this.#isPolling = false;
    if (this.#listeners.size === 0) return;
    this.#outcome = outcome;
    for (const listener of [...this.#listeners]) outcome(listener);
    this.#timer = setTimeout(() => void this.#run(), POLL_INTERVAL_MS);
    this.#timer.unref();
  }
}

async function itemsOf(listing: Listing, call: Call): Promise<readonly Row[]> {
  const rows = await rowsOf(listing, call, true);
  if (!listing.lacksInternal) return rows;
  const shown = new Set((await rowsOf(listing, call, false)).map((row) => row[listing.key]));
  return rows.map((row) => ({ ...row, internal: !shown.has(row[listing.key]) }));
}

async function rowsOf({ functionId, member }: Listing, call: Call, includeInternal: boolean): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let offset: number | undefined = 0;
  while (offset !== undefined) {
    const page = (await call(functionId, { include_internal: includeInternal, offset })) as Row;
    rows.push(...(page[member] as readonly Row[]));
    offset = page.next_offset as number | undefined;
  }
  return rows;
}
