import { describe, expect, it } from "vitest";
import type { Delivery } from "../../../items/outbox.ts";
import { DeliveryBudget, DeliveryWindow, type Entry } from "./delivery-window.ts";

function delivery(seq: number, key: string, json = "1"): Delivery {
  return {
    seq,
    watcher: "w",
    origin: "",
    change: { kind: "updated", scope: "s", key, version: seq, previous: undefined, json, at: 0 },
  };
}

function window(...deliveries: readonly Delivery[]): DeliveryWindow {
  const made = new DeliveryWindow(new DeliveryBudget());
  for (const one of deliveries) made.add(one);
  return made;
}

const seqOf = (entry: Entry | undefined): number | undefined => entry?.delivery.seq;

describe("the window of deliveries", () => {
  it("hands out one of each item at a time, and the next of it when that one is done", () => {
    const deliveries = window(delivery(1, "a"), delivery(2, "a"), delivery(3, "b"));
    const first = deliveries.take();
    expect([seqOf(first), seqOf(deliveries.take()), seqOf(deliveries.take())]).toEqual([1, 3, undefined]);
    deliveries.done(first as Entry);
    expect(seqOf(deliveries.take())).toBe(2);
  });

  it("puts those of an item in order by their numbers, behind the one that is under way", () => {
    const deliveries = window(delivery(5, "a"));
    const fifth = deliveries.take() as Entry;
    for (const seq of [9, 7, 8]) deliveries.add(delivery(seq, "a"));
    expect(deliveries.take()).toBeUndefined();
    deliveries.done(fifth);
    const order: (number | undefined)[] = [];
    for (let entry = deliveries.take(); entry !== undefined; entry = deliveries.take()) {
      order.push(seqOf(entry));
      deliveries.done(entry);
    }
    expect(order).toEqual([7, 8, 9]);
  });

  it("tries one again before the next of its item", () => {
    const deliveries = window(delivery(1, "a"), delivery(2, "a"));
    const entry = deliveries.take() as Entry;
    deliveries.again(entry);
    expect(deliveries.take()).toBe(entry);
  });

  it("is full at 1,000 deliveries, at 16 MiB, and when all windows together have 64 MiB", () => {
    expect(window(...Array.from({ length: 999 }, (_, seq) => delivery(seq, "a"))).isFull).toBe(false);
    expect(window(...Array.from({ length: 1_000 }, (_, seq) => delivery(seq, "a"))).isFull).toBe(true);
    expect(window(delivery(1, "a", "x".repeat(9 * 1024 * 1024))).isFull).toBe(true);
    const budget = new DeliveryBudget();
    const windows = Array.from({ length: 9 }, () => new DeliveryWindow(budget));
    for (const one of windows) for (let seq = 0; seq < 4; seq++) one.add(delivery(seq, "a", "x".repeat(1024 * 1024)));
    expect(windows[0]?.isFull).toBe(true);
    // There is always room for one delivery, so that every binding makes progress.
    expect(new DeliveryWindow(budget).isFull).toBe(false);
    for (const one of windows) one.clear();
    expect(budget.bytes).toBe(0);
  });
});
