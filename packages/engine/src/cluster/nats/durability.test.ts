import { describe, expect, it } from "vitest";
import { manualClock } from "../../testing/manual-clock.ts";
import { durabilityIn, type LogDurability } from "./check-server.ts";
import { DurabilityWatch } from "./durability-watch.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the durability that NATS servers tell", () => {
  const report = (name: string, isSynced = true, size = 3): Parameters<typeof durabilityIn>[0][number] => ({
    server: { name },
    data: { config: { sync_always: isSynced }, meta_cluster: { cluster_size: size } },
  });

  it("is durable only if all servers of the cluster tell that they sync", () => {
    const [n1, n2, n3] = [report("n1"), report("n2"), report("n3")];
    expect(durabilityIn([n1, n2, n3], [])).toEqual({ durability: "durable", servers: 3 });
    expect(durabilityIn([n1, n2], ["n1", "n2"])).toEqual({
      ...{ durability: "relaxed", servers: 3 },
      reason: expect.stringContaining("only 2 of 3 NATS servers tell"),
    });
    expect(durabilityIn([n1, report("n2", false), n3], [])).toMatchObject({
      durability: "relaxed",
      reason: expect.stringContaining("the NATS servers n2 acknowledge writes before"),
    });
  });

  it("counts the announced servers if none tells, and one that is alone as one", () => {
    expect(durabilityIn([], ["n1:1", "n2:1", "n3:1"])).toMatchObject({ durability: "relaxed", servers: 3 });
    expect(durabilityIn([], [])).toMatchObject({ durability: "relaxed", servers: 1 });
    const alone = { server: { name: "n1" }, data: { config: { sync_always: true } } };
    expect(durabilityIn([alone], ["10.0.0.1:1", "10.0.0.2:1"])).toEqual({ durability: "durable", servers: 1 });
  });
});

describe("the watch of durability", () => {
  it("asks when a connection comes up, and every 5 s while the answer is relaxed", async () => {
    const clock = manualClock();
    let answer: LogDurability = { durability: "durable", servers: 3 };
    let up = (): void => {};
    let asked = 0;
    const watch = await DurabilityWatch.start({
      ask: async () => {
        asked++;
        return answer;
      },
      onUp: (listener) => {
        up = listener;
        return () => {
          up = () => {};
        };
      },
      clock,
    });
    clock.advance(60_000);
    expect([asked, watch.last.durability]).toEqual([1, "durable"]);

    answer = { durability: "relaxed", reason: "a test", servers: 3 };
    up();
    // The answer may be that of the server before.
    up();
    for (let count = 0; count < 3; count++) await turn();
    expect([asked, watch.last.durability]).toEqual([3, "relaxed"]);
    answer = { durability: "durable", servers: 3 };
    clock.advance(5_000);
    await turn();
    expect([asked, watch.last.durability]).toEqual([4, "durable"]);

    watch.stop();
    up();
    clock.advance(60_000);
    await turn();
    expect(asked).toBe(4);
  });
});
