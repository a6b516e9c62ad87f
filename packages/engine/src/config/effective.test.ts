import { expect, it } from "vitest";
import { z } from "zod";
import { effectiveConfig } from "./effective.ts";
import type { LoadedConfig } from "./types.ts";

const queues = z
  .strictObject({
    adapter: z.string().default("file"),
    queue_configs: z.record(z.string(), z.strictObject({ concurrency: z.int() })).default({}),
  })
  .transform(({ queue_configs }) => ({ queues: Object.entries(queue_configs) }));

it.each([
  ["makes something else of its block", queues],
  ["looks at its block first", z.preprocess((block) => block, queues)],
])("returns the keys of a module's block as written in the file, also if the module %s", (_what, schema) => {
  const block = { queue_configs: { mails: { concurrency: 3 } } };
  const config = {
    ...{ file: "/config.yaml", effective: [], localWorkers: [], warnings: [] },
    modules: [{ name: "svc-queue", instance: "svc-queue", where: "config.yaml:2", config: block }],
  } as unknown as LoadedConfig;
  expect(effectiveConfig(config, [{ name: "svc-queue", config: schema }]).modules[0]?.settings).toEqual([
    { key: "adapter", value: "file", source: "default" },
    { key: "queue_configs", value: block.queue_configs, source: "file" },
  ]);
});
