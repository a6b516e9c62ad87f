import { describe, expect, it } from "vitest";
import { queueConfigSchema } from "./config.ts";
import { defaultQueueSettings } from "./queue-settings.ts";

const queuesOf = (config: unknown) => Object.fromEntries(queueConfigSchema.parse(config).queues);
const problemOf = (config: unknown): string =>
  queueConfigSchema
    .safeParse(config)
    .error?.issues.map(({ message }) => message)
    .join("; ") ?? "";

describe("the config of svc-queue", () => {
  it("has a queue named default, in a file of its own, when it says nothing", () => {
    expect(queueConfigSchema.parse({})).toMatchObject({
      adapter: { name: "file_based", config: { file_path: "queue.db" } },
    });
    expect(queuesOf({})).toEqual({ default: defaultQueueSettings });
  });

  it("honours every key of older configs; max_retries counts attempts in all, as it always did", () => {
    const q = {
      max_retries: 5,
      concurrency: 3,
      type: "fifo",
      message_group_field: "g",
      backoff_ms: 20,
      poll_interval_ms: 5,
      max_priority: 7,
      priority_field: "p",
    };
    expect(queuesOf({ queue_configs: { q } }).q).toMatchObject({
      maxAttempts: 5,
      concurrency: 3,
      type: "fifo",
      groupField: "g",
      backoff: { growth: "exponential", firstMs: 20 },
      maxPriority: 7,
      priorityField: "p",
    });
  });

  it("maps the builtin adapter: durable unless it is asked not to be, its numbers for queues that have none", () => {
    const config = {
      max_attempts: 7,
      backoff_ms: 5,
      mode: "fifo",
      save_interval_ms: 1,
      channel_size: 1,
      poll_interval_ms: 1,
    };
    const parsed = queueConfigSchema.parse({
      adapter: { name: "builtin", config },
      queue_configs: { q: { max_retries: 2 } },
    });
    expect(parsed.adapter.name).toBe("file_based");
    expect(new Map(parsed.queues).get("q")).toMatchObject({ maxAttempts: 2, concurrency: 1, backoff: { firstMs: 5 } });
    expect(
      queueConfigSchema.parse({ adapter: { name: "builtin", config: { store_method: "in_memory" } } }).adapter.name,
    ).toBe("in_memory");
  });

  it.each([
    [
      "an unknown type",
      { queue_configs: { x: { type: "y" } } },
      "Queue 'x' has invalid type 'y'. Must be 'standard' or 'fifo'",
    ],
    [
      "a fifo queue without its field",
      { queue_configs: { x: { type: "fifo" } } },
      "Queue 'x' is of type 'fifo' but 'message_group_field' is not set",
    ],
  ])("refuses %s in the words that were published", (_, config, problem) => {
    expect(problemOf(config)).toBe(problem);
  });

  it.each(["redis", "rabbitmq", "bridge"])(
    "refuses the adapter %s and says what to use, rather than lose jobs in it (gap 13)",
    (name) => {
      expect(JSON.stringify(queueConfigSchema.safeParse({ adapter: { name, config: {} } }).error?.issues)).toContain(
        "svc-queue stores jobs itself, durably",
      );
    },
  );

  it("refuses no concurrency at all, and keys that it does not know", () => {
    expect(queueConfigSchema.safeParse({ queue_configs: { q: { concurrency: 0 } } }).success).toBe(false);
    expect(queueConfigSchema.safeParse({ queue_configs: { q: { retries: 1 } } }).success).toBe(false);
  });
});
