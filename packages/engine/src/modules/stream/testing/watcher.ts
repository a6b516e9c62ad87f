import type { InMemoryEngine, InMemoryWorker } from "../../../testing/index.ts";

/** What a `stream` trigger hands over. */
export interface SeenEvent {
  readonly streamName: string;
  readonly groupId: string;
  readonly id: string | null;
  readonly event: { readonly type: string; readonly data?: unknown; readonly event?: { readonly type: string; readonly data: unknown } };
  readonly seq: number;
  readonly version?: number;
}

/** Collects what comes, and lets a test wait for more of it. */
export class Collected<Item> {
  readonly items: Item[] = [];
  readonly #waiting = new Set<() => void>();

  add(item: Item): void {
    this.items.push(item);
    for (const look of [...this.#waiting]) look();
  }

  /** Resolves when `isThere` holds; looks each time that something has come. */
  async until(isThere: (items: readonly Item[]) => boolean): Promise<readonly Item[]> {
    while (!isThere(this.items)) await new Promise<void>((resolve) => this.#waiting.add(resolve));
    return this.items;
  }

  async count(number: number): Promise<readonly Item[]> {
    return this.until((items) => items.length >= number);
  }
}

/** Asks for a trigger and resolves when it stands. Rejects with the reason when it is refused. */
export async function bindTrigger(worker: InMemoryWorker, type: string, functionId: string, config: unknown): Promise<string> {
  const id = crypto.randomUUID();
  worker.say({ type: "registertrigger", id, trigger_type: type, function_id: functionId, config });
  const answer = await worker.next((frame) => frame.type === "triggerregistrationresult" && frame.id === id);
  if (answer.error !== undefined && answer.error !== null) throw new Error((answer.error as { message: string }).message);
  return id;
}

/** A worker whose function is bound to events of streams. */
export async function watchStreams(engine: InMemoryEngine, config: unknown = {}): Promise<Collected<SeenEvent>> {
  const seen = new Collected<SeenEvent>();
  const worker = await engine.connectWorker({ name: "watcher" });
  const functionId = `watch::${crypto.randomUUID()}`;
  worker.serve(functionId, (data) => seen.add(data as SeenEvent));
  await bindTrigger(worker, "stream", functionId, config);
  return seen;
}
