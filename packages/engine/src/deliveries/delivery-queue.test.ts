import { describe, expect, it } from "vitest";
import { restrictedPrincipal, TRUSTED } from "../access/principal.ts";
import { Quota } from "../kernel/module.ts";
import { DeliveryQueue, type DeliveryQueueOptions } from "./delivery-queue.ts";

/** A queue whose deliveries end when the test says so. */
function queueOf(options: Partial<DeliveryQueueOptions<string>> = {}) {
  const started: string[] = [];
  const dropped: string[] = [];
  const failed: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const queue = new DeliveryQueue<string>({
    deliver: (item) => {
      started.push(item);
      return new Promise((resolve, reject) =>
        ends.set(item, (error) => (error === undefined ? resolve() : reject(error))),
      );
    },
    onFailed: (item) => failed.push(item),
    onDropped: (item) => dropped.push(item),
    maxWaiting: 100,
    maxBytes: 1_000,
    maxParallel: 2,
    quota: new Quota("bytes", { each: 1_000, restricted: 1_000 }),
    principal: () => TRUSTED,
    ...options,
  });
  const end = async (item: string, error?: Error): Promise<void> => {
    ends.get(item)?.(error);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { queue, started, dropped, failed, end };
}

describe("a delivery queue", () => {
  it("delivers what is of one lane one after another, whatever becomes of each", async () => {
    const { queue, started, failed, end } = queueOf();
    for (const item of ["a1", "a2", "a3"]) queue.push("a", item, 1);
    expect(started).toEqual(["a1"]);
    await end("a1", new Error("no"));
    expect(failed).toEqual(["a1"]);
    expect(started).toEqual(["a1", "a2"]);
    await end("a2");
    await end("a3");
    queue.push("a", "a4", 1);
    expect(started).toEqual(["a1", "a2", "a3", "a4"]);
  });

  it("serves so many lanes at once, and a long one does not keep others waiting", async () => {
    const { queue, started, end } = queueOf();
    for (const item of ["a1", "a2", "a3"]) queue.push("a", item, 1);
    for (const item of ["b1", "c1", "d1"]) queue.push(item, item, 1);
    expect(started).toEqual(["a1", "b1"]);
    await end("a1");
    expect(started).toEqual(["a1", "b1", "c1"]);
    await end("c1");
    await end("d1");
    expect(started).toEqual(["a1", "b1", "c1", "d1", "a2"]);
  });

  it("drops what comes when it is full, by number and by bytes, and takes more when there is room", async () => {
    const byNumber = queueOf({ maxWaiting: 2 });
    for (const item of ["a1", "a2", "a3", "a4"]) byNumber.queue.push("a", item, 1);
    expect(byNumber.dropped).toEqual(["a4"]);
    await byNumber.end("a1");
    byNumber.queue.push("a", "a5", 1);
    expect(byNumber.dropped).toEqual(["a4"]);

    const byBytes = queueOf({ maxBytes: 10 });
    for (const [item, bytes] of [["a1", 5] as const, ["a2", 500] as const, ["a3", 1] as const])
      byBytes.queue.push("a", item, bytes);
    expect(byBytes.dropped).toEqual(["a3"]);
    await byBytes.end("a1");
    expect(byBytes.started).toEqual(["a1", "a2"]);
  });

  it("forgets what waits when it is cleared, and goes on", async () => {
    const { queue, started, end } = queueOf();
    for (const item of ["a1", "a2"]) queue.push("a", item, 1);
    queue.clear();
    queue.push("a", "a3", 1);
    expect(started).toEqual(["a1", "a3"]);
    await end("a1");
    await end("a3");
    expect(started).toEqual(["a1", "a3"]);
  });

  it("says when all has been handed over", async () => {
    const { queue, end } = queueOf();
    await queue.idle();
    for (const item of ["a1", "a2"]) queue.push("a", item, 1);
    let isIdle = false;
    const idle = queue.idle().then(() => {
      isIdle = true;
    });
    await end("a1", new Error("no"));
    expect(isIdle).toBe(false);
    await end("a2");
    await idle;
  });

  it("shares its room in bytes with the other queues of its principal, and gives back what was delivered or dropped", async () => {
    const quota = new Quota("bytes", { each: 10, restricted: 15, total: 20 });
    const [acme, beta] = [restrictedPrincipal("acme"), restrictedPrincipal("beta")];
    const [one, other, third, owner] = [acme, acme, beta, TRUSTED].map((principal) =>
      queueOf({ quota, principal: () => principal, maxParallel: 1 }),
    );
    if (one === undefined || other === undefined || third === undefined || owner === undefined)
      throw new Error("four queues");
    // The first one is in flight, and counts until it has ended.
    one.queue.push("a", "a1", 6);
    one.queue.push("a", "a2", 4);
    other.queue.push("a", "o1", 1);
    expect([one.dropped, other.dropped]).toEqual([[], ["o1"]]);
    third.queue.push("a", "t1", 5);
    third.queue.push("a", "t2", 1);
    expect(third.dropped).toEqual(["t2"]);
    owner.queue.push("a", "w1", 5);
    owner.queue.push("a", "w2", 1);
    expect([owner.dropped, quota.used]).toEqual([["w2"], 20]);
    one.queue.clear();
    expect(quota.used).toBe(16);
    await third.end("t1");
    expect(quota.used).toBe(11);
    other.queue.push("a", "o2", 4);
    expect(other.dropped).toEqual(["o1"]);
    await one.end("a1", new Error("no"));
    await other.end("o2");
    await owner.end("w1");
    expect(quota.used).toBe(0);
  });
});
