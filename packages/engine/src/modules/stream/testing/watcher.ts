import { bindTrigger, Collected, type InMemoryEngine } from "../../../testing/index.ts";

/** Payload of a `stream` trigger. */
export interface SeenEvent {
  readonly streamName: string;
  readonly groupId: string;
  readonly id: string | null;
  readonly event: {
    readonly type: string;
    readonly data?: unknown;
    readonly event?: { readonly type: string; readonly data: unknown };
  };
  readonly seq: number;
  readonly version?: number;
}

/** Connects a worker whose function is bound to stream events. */
export async function watchStreams(engine: InMemoryEngine, config: unknown = {}): Promise<Collected<SeenEvent>> {
  const seen = new Collected<SeenEvent>();
  const worker = await engine.connectWorker({ name: "watcher" });
  const functionId = `watch::${crypto.randomUUID()}`;
  worker.serve(functionId, (data) => seen.add(data as SeenEvent));
  await bindTrigger(worker, "stream", functionId, config);
  return seen;
}
