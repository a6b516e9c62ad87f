import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { type InMemoryEngine, inMemoryEngine } from "../testing/in-memory-engine.ts";
import { defineModule, type HandlerContext } from "./module.ts";

let engine: InMemoryEngine;
/** Contexts of the calls of `shop::wait`, which never returns. */
let contexts: HandlerContext[];

const shop = defineModule({
  name: "svc-shop",
  summary: "A shop",
  config: z.unknown(),
  start({ provideFunction }) {
    provideFunction({
      id: "shop::wait",
      summary: "Waits",
      input: z.unknown(),
      handle(_input, context) {
        contexts.push(context);
        return new Promise(() => {});
      },
    });
    return { stop() {} };
  },
});

beforeEach(async () => {
  contexts = [];
  engine = await inMemoryEngine({ modules: [shop], config: { "svc-shop": {} } });
});
afterEach(() => engine.stop());

it.each(["before", "after"])(
  "gives the reason of a cancellation to a handler that reads its signal %s the cancellation",
  async (when) => {
    const cancellation = new AbortController();
    const call = engine.call("shop::wait", {}, { signal: cancellation.signal });
    const [context] = contexts as [HandlerContext];
    const early = when === "before" ? context.signal : undefined;
    expect(early?.aborted).not.toBe(true);
    cancellation.abort();
    await expect(call).rejects.toMatchObject({ code: "call_cancelled" });
    const { signal } = context;
    expect(signal.reason).toMatchObject({ code: "call_cancelled" });
    if (early !== undefined) expect(signal).toBe(early);
  },
);
