import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestEngine, type TestEngine } from "./support/engine.ts";
import { ClientFailure, type ClientProcess, publishedClients } from "./support/published-client.ts";
import { offer, settled, workshop } from "./support/workshop.ts";

// Protocol section 18, statement 20, and capabilities 5 as the published clients use it, under the module's earlier
// name and config.

const { connected } = workshop();
const config = `workers:
  - name: iii-queue
    config:
      adapter: { name: builtin }
      queue_configs:
        mail: { max_retries: 2, concurrency: 5, type: standard, backoff_ms: 10, poll_interval_ms: 100 }
        orders: { type: fifo, message_group_field: customer }
`;
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine(config);
});
afterAll(() => engine.stop());

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe.each(publishedClients)("queues for $name", (client) => {
  let worker: ClientProcess;
  beforeAll(async () => {
    worker = await connected(client, engine.address);
  });

  const call = (function_id: string, payload: Readonly<Record<string, unknown>>): Promise<unknown> =>
    worker.run("trigger", { function_id, payload });
  const enqueue = (function_id: string, queue: string, payload: unknown): Promise<unknown> =>
    worker.run("trigger", { function_id, payload, action: { type: "enqueue", queue } });
  const called = async (id: string): Promise<unknown> =>
    (await worker.next((seen) => seen.event === "called" && seen.function === id, `${id} is called`)).data;

  it("statement 20: enqueue returns a receipt before the target runs", async () => {
    const id = `later::${client.program}`;
    // It has no provider yet, so it cannot have run.
    expect(await enqueue(id, "default", { n: 1 })).toEqual({ messageReceiptId: expect.stringMatching(UUID) });
    await offer(worker, id, { kind: "echo" });
    expect(await called(id)).toEqual({ n: 1 });
  });

  it("enqueue fails as in published engines", async () => {
    const failure = async (queue: string, payload: unknown) => {
      const thrown = await enqueue("any::fn", queue, payload).catch((error: unknown) => error);
      return (thrown as ClientFailure).error;
    };
    expect(await failure("nowhere", {})).toMatchObject({
      code: "enqueue_error",
      message: expect.stringContaining("Queue 'nowhere' not found"),
    });
    const noField = "FIFO queue 'orders' requires field 'customer' in data, but it was not found";
    expect(await failure("orders", {})).toMatchObject({
      code: "enqueue_error",
      message: expect.stringContaining(noField),
    });
  });

  it("a durable subscriber receives what was published before and after it connected; publish returns nothing", async () => {
    const topic = `orders ${client.program}`;
    const publish = (data: unknown): Promise<unknown> => call("iii::durable::publish", { topic, data });
    expect((await publish({ n: 1 })) ?? null).toBeNull();
    const id = await offer(worker, `on-order::${client.program}`, { kind: "echo" });
    await worker.run("registerTrigger", {
      type: "durable:subscriber",
      function_id: id,
      config: { topic, queue_config: { type: "fifo", maxRetries: 1 } },
    });
    await settled(worker);
    await publish([2]);
    expect([await called(id), await called(id)]).toEqual([{ n: 1 }, [2]]);
    const failure = await call("iii::durable::publish", { data: 1 }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ClientFailure);
    expect((failure as ClientFailure).error).toMatchObject({
      code: "topic_not_set",
      message: expect.stringContaining("Topic is not set"),
    });
  });

  it("a job without attempts left is in the dead-letter queue with the true error, and can be redriven", async () => {
    const id = await offer(worker, `fails::${client.program}`, { kind: "fail", message: "out of paper" });
    const { messageReceiptId } = (await enqueue(id, "mail", { n: 7 })) as { readonly messageReceiptId: string };
    expect([await called(id), await called(id)]).toEqual([{ n: 7 }, { n: 7 }]);
    type Letter = { readonly id: string; readonly payload: unknown; readonly error: string; readonly retries: number };
    const letters = async (): Promise<readonly Letter[]> =>
      ((await call("engine::queue::dlq_messages", { topic: "mail" })) as readonly Letter[]).filter(
        (letter) => letter.id === messageReceiptId,
      );
    await expect.poll(letters).toHaveLength(1);
    expect(await letters()).toEqual([
      {
        id: messageReceiptId,
        payload: { n: 7 },
        error: expect.stringContaining("out of paper"),
        failed_at: expect.any(Number),
        retries: 2,
        size_bytes: expect.any(Number),
      },
    ]);
    expect(await call("iii::queue::redrive_message", { queue: "mail", message_id: messageReceiptId })).toMatchObject({
      queue: "mail",
      redriven: 1,
    });
    expect(await called(id)).toEqual({ n: 7 });
    const unknown = await call("iii::queue::redrive_message", { queue: "mail", message_id: "none" }).catch(
      (error: unknown) => error,
    );
    expect((unknown as ClientFailure).error).toMatchObject({ code: "job_not_found" });
  });
});
