import { z } from "zod";

const noEffect = (what: string) =>
  z
    .unknown()
    .optional()
    .meta({ description: `Has no effect any more: ${what}` });

/** The `config` of an `svc-cron` entry. */
export const cronConfigSchema = z.strictObject({
  max_running: z.int().min(1).max(5_000).default(1_000).meta({
    description:
      "Runs at the same time, over all triggers; 1 to 5,000, default 1,000. Others wait for their turn. One restricted principal has at most an eighth, all of them together half",
  }),
  adapter: z
    .strictObject({
      name: z.enum(["kv", "redis"]),
      config: z
        .strictObject({
          lock_ttl_ms: noEffect("a tick is never started twice, without a lock"),
          lock_index: noEffect("a tick is never started twice, without a lock"),
          redis_url: noEffect("schedules are kept in the data folder"),
          store_method: noEffect("schedules are kept in the data folder"),
          file_path: noEffect("schedules are kept in the data folder"),
          save_interval_ms: noEffect("each start is on the disk before the function is called"),
        })
        .optional(),
    })
    .optional()
    .meta({ description: "Has no effect any more: schedules and their last runs are kept in the data folder, in cron.db" }),
});

export type CronConfig = z.output<typeof cronConfigSchema>;
