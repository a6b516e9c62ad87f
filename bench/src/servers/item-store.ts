// The store of items without an engine, in the folder given as argument: shows what a call through the engine costs in
// addition to its write.
import { type BatchedWrite, type ItemStore, openFileItems, silentLogger, systemClock } from "@svc-runtime/engine/items";
import { openStore } from "@svc-runtime/engine/testing";
import { ClosedLoop } from "../generator/closed-loop.ts";
import type { Window } from "../generator/load.ts";
import { LARGE_SCOPE, largeKey } from "../large-scope.ts";
import { otherThan, payloadOfBytes } from "../payloads.ts";

export type StoreOperation = "set" | "get" | "update";
export type StoreDurability = "durable" | "relaxed";

export type StoreRequest =
  | {
      readonly kind: "measure";
      readonly operation: StoreOperation;
      readonly durability: StoreDurability;
      readonly concurrency: number;
      readonly payloadBytes: number;
      readonly warmUpMs: number;
      readonly measureMs: number;
    }
  /** Fills the scope for large listings in the database of another folder, which no engine uses at that time. */
  | { readonly kind: "fill"; readonly dataDir: string; readonly items: number; readonly payloadBytes: number };

export type StoreReply = { readonly window: Window } | { readonly filled: number } | { readonly error: string };

const FILL_BATCH = 1_000;
const CACHE_BYTES = 64 * 1024 * 1024;
const folder = process.argv[2] ?? ".";
const stores = new Map<StoreDurability, ItemStore>();

function openIn(dataDir: string, file: string, durability: StoreDurability): Promise<ItemStore> {
  return openFileItems({
    dataDir,
    filePath: file,
    cacheBytes: CACHE_BYTES,
    durability,
    log: silentLogger,
    clock: systemClock,
    openStore,
  });
}

async function storeOf(durability: StoreDurability): Promise<ItemStore> {
  const known = stores.get(durability);
  if (known !== undefined) return known;
  const opened = await openIn(folder, `${durability}.db`, durability);
  stores.set(durability, opened);
  return opened;
}

async function measure(request: Extract<StoreRequest, { kind: "measure" }>): Promise<Window> {
  const store = await storeOf(request.durability);
  const payload = payloadOfBytes(request.payloadBytes);
  // Two values are written in turn, because writing the same value again would write nothing.
  const values = [payload, otherThan(payload)].map((json) => ({
    json,
    bytes: request.payloadBytes,
    expiresAt: undefined,
  }));
  const turns = new Uint32Array(request.concurrency);
  const operate: Record<StoreOperation, (slot: number) => Promise<unknown>> = {
    get: (slot) => store.get("bench", `key-${slot}`),
    set: (slot) => {
      const turn = turns[slot] as number;
      turns[slot] = turn + 1;
      return store.set("bench", `key-${slot}`, values[turn % 2] as (typeof values)[0], write());
    },
    update: (slot) =>
      store.update(
        "bench",
        `counter-${slot}`,
        { ops: [{ type: "increment", path: "n", by: 1 }], atomic: true, maxBytes: 1_000_000, expiresAt: "keep" },
        write(),
      ),
  };
  const operation = operate[request.operation];
  let answered: number[] = [];
  // Reads from memory resolve in the same turn of the event loop. Without a new turn after some reads, timers would
  // never run.
  const collect = (slot: number): void => {
    if (answered.push(slot) > 1) return;
    setImmediate(() => {
      const slots = answered;
      answered = [];
      for (const each of slots) loop.answered(each);
    });
  };
  const loop = new ClosedLoop(
    { warmUpMs: request.warmUpMs, measureMs: request.measureMs, observe: [process.pid] },
    request.concurrency,
    (slot) => {
      operation(slot).then(
        () => collect(slot),
        (error: Error) => loop.fail(error),
      );
    },
  );
  loop.start();
  return loop.window;
}

function write(): { readonly now: number; readonly ifVersion: undefined; readonly notice: undefined } {
  return { now: Date.now(), ifVersion: undefined, notice: undefined };
}

async function fill(request: Extract<StoreRequest, { kind: "fill" }>): Promise<number> {
  const store = await openIn(request.dataDir, "state.db", "relaxed");
  const json = payloadOfBytes(request.payloadBytes);
  try {
    for (let first = 0; first < request.items; first += FILL_BATCH) {
      const writes = Array.from({ length: Math.min(FILL_BATCH, request.items - first) }, (_, offset): BatchedWrite => {
        return {
          type: "set",
          scope: LARGE_SCOPE,
          key: largeKey(first + offset),
          value: { json, bytes: request.payloadBytes, expiresAt: undefined },
          write: write(),
        };
      });
      await store.writeMany(writes);
    }
  } finally {
    await store.close();
  }
  return request.items;
}

async function handle(request: StoreRequest): Promise<StoreReply> {
  return request.kind === "measure" ? { window: await measure(request) } : { filled: await fill(request) };
}

process.on("disconnect", () => process.exit(0));
process.on("message", (request: StoreRequest) => {
  handle(request).then(
    (reply) => process.send?.(reply),
    (error: Error) => process.send?.({ error: error.message } satisfies StoreReply),
  );
});
process.send?.({ port: 0 });
