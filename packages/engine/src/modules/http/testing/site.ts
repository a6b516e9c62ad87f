import { afterEach, expect } from "vitest";
import type { Module } from "../../../kernel/module.ts";
import { type InMemoryEngine, type InMemoryWorker, inMemoryEngine, type manualClock } from "../../../testing/index.ts";
import { httpModule } from "../index.ts";

export interface Site {
  readonly engine: InMemoryEngine;
  readonly worker: InMemoryWorker;
  readonly url: string;
}

let engine: InMemoryEngine | undefined;
afterEach(async () => {
  await engine?.stop();
  engine = undefined;
});

/** An engine with svc-http and one worker, stopped after the test. */
export async function site(
  options: {
    readonly config?: Record<string, unknown>;
    readonly modules?: readonly Module<never>[];
    readonly clock?: ReturnType<typeof manualClock>;
    readonly production?: boolean;
    readonly dataDir?: string;
  } = {},
): Promise<Site> {
  const modules = [httpModule as unknown as Module<never>, ...(options.modules ?? [])];
  engine = await inMemoryEngine({
    modules,
    config: Object.fromEntries(modules.map(({ name }) => [name, name === "svc-http" ? options.config : {}])),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
    ...(options.production === undefined ? {} : { production: options.production }),
    ...(options.dataDir === undefined ? {} : { dataDir: options.dataDir }),
  });
  return { engine, worker: await engine.connectWorker(), url: await engine.http() };
}

let triggerNumber = 0;

/** The id of the last bound trigger. */
export function lastTriggerId(before = 0): string {
  return `trigger-${triggerNumber - before}`;
}

/** Registers the trigger and resolves with the engine's response. */
export function bind(
  worker: InMemoryWorker,
  functionId: string,
  config: unknown,
  metadata?: unknown,
): Promise<Record<string, unknown>> {
  const id = `trigger-${++triggerNumber}`;
  worker.say({ type: "registertrigger", id, trigger_type: "http", function_id: functionId, config, metadata });
  return worker.next((frame) => frame.type === "triggerregistrationresult" && frame.id === id);
}

/** Serves a function at a path. */
export async function serve(
  worker: InMemoryWorker,
  path: string,
  handle: (input: Record<string, unknown>, frame: Record<string, unknown>) => unknown,
  config: Record<string, unknown> = {},
): Promise<string> {
  const functionId = `test::${path}`;
  worker.serve(functionId, (data, frame) => handle(data as Record<string, unknown>, frame));
  const result = await bind(worker, functionId, { api_path: path, ...config });
  expect(result.error).toBeUndefined();
  return functionId;
}

/** Collects events, for tests that wait for them. */
export function arrivals<T>(): { readonly items: T[]; add(item: T): void; count(wanted: number): Promise<void> } {
  const items: T[] = [];
  let waiting: { readonly wanted: number; readonly resolve: () => void } | undefined;
  return {
    items,
    add(item) {
      items.push(item);
      if (waiting !== undefined && items.length >= waiting.wanted) waiting.resolve();
    },
    count: (wanted) =>
      new Promise((resolve) => {
        waiting = { wanted, resolve };
        if (items.length >= wanted) resolve();
      }),
  };
}

/** A handler that responds when the test says so. */
export function held(): {
  handle(input: unknown, frame: Record<string, unknown>): Promise<unknown>;
  readonly calls: ReturnType<typeof arrivals<Record<string, unknown>>>;
  release(): void;
} {
  const calls = arrivals<Record<string, unknown>>();
  const waiting: ((value: unknown) => void)[] = [];
  return {
    calls,
    handle: (_input, frame) =>
      new Promise((resolve) => {
        waiting.push(resolve);
        calls.add(frame);
      }),
    release() {
      for (const resolve of waiting.splice(0)) resolve("done");
    },
  };
}

export async function errorOf(response: Response): Promise<{ code: string; message: string; error_id: string }> {
  const body = (await response.json()) as { error: { code: string; message: string; error_id: string } };
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(body.error.error_id).toMatch(/^[0-9a-f]{12}$/);
  return body.error;
}

export function post(url: string, body: string | Buffer, contentType = "application/json"): Promise<Response> {
  return fetch(url, { method: "POST", body, headers: { "content-type": contentType } });
}
