import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestEngine, type TestEngine } from "./support/engine.ts";
import { ClientFailure, type ClientProcess, publishedClients } from "./support/published-client.ts";
import { offer, settled, workshop } from "./support/workshop.ts";

// Capabilities 6 as the published clients use it: triggers of the type `subscribe` and calls of `publish`, under the
// module's earlier name.

const { connected } = workshop();
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine("workers:\n  - name: iii-pubsub\n    config: { adapter: { name: local } }\n");
});
afterAll(() => engine.stop());

describe.each(publishedClients)("events for $name", (client) => {
  let worker: ClientProcess;
  beforeAll(async () => {
    worker = await connected(client, engine.address);
  });

  const publish = (payload: Readonly<Record<string, unknown>>, more: object = {}): Promise<unknown> =>
    worker.run("trigger", { function_id: "publish", payload, ...more });
  const heard = async (id: string): Promise<unknown> =>
    (await worker.next((seen) => seen.function === id, `${id} hears an event`)).data;
  const subscribe = async (
    name: string,
    config: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly id: string; readonly handle: unknown }> => {
    const id = await offer(worker, `${name}::${client.program}`, { kind: "echo" });
    const handle = await worker.run("registerTrigger", { type: "subscribe", function_id: id, config });
    await settled(worker);
    return { id, handle };
  };

  it("subscribe receives the data published to its topic, in order; publish returns nothing", async () => {
    const topic = `orders ${client.program}`;
    const { id } = await subscribe("on-order", { topic });
    expect((await publish({ topic, data: { id: 1 } })) ?? null).toBeNull();
    await publish({ topic: `${topic} elsewhere`, data: "not this" });
    await publish({ topic, data: [2] }, { action: { type: "void" } });
    await publish({ topic, data: null });
    expect([await heard(id), await heard(id), await heard(id)]).toEqual([{ id: 1 }, [2], null]);
  });

  it("one that unsubscribes leaves the others their events (gap 14)", async () => {
    const topic = `left ${client.program}`;
    const leaving = await subscribe("leaving", { topic });
    const staying = await subscribe("staying", { topic });
    await worker.run("unregisterTrigger", { handle: leaving.handle });
    await settled(worker);
    await publish({ topic, data: 1 });
    expect(await heard(staying.id)).toBe(1);
    expect(worker.events().filter((seen) => seen.function === leaving.id)).toEqual([]);
  });

  it("a condition function is called (gap 15)", async () => {
    const topic = `asked ${client.program}`;
    const condition = await offer(worker, `no::${client.program}`, { kind: "value", value: false });
    const barred = await subscribe("barred", { topic, condition_function_id: condition });
    const open = await subscribe("open", { topic });
    await publish({ topic, data: 1 });
    expect(await heard(condition)).toBe(1);
    expect(await heard(open.id)).toBe(1);
    await settled(worker);
    expect(worker.events().filter((seen) => seen.function === barred.id)).toEqual([]);
  });

  it("publish without a topic fails as in published engines", async () => {
    const failure = await publish({ topic: "", data: 1 }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ClientFailure);
    expect((failure as ClientFailure).error).toMatchObject({
      code: "topic_not_set",
      message: expect.stringContaining("Topic is not set"),
    });
  });
});
