import { z } from "zod";

const noEffect = (what: string) =>
  z
    .unknown()
    .optional()
    .meta({ description: `Ignored: ${what}` });

/** The `config` of an `svc-cron` entry. */
export const cronConfigSchema = z.strictObject({
  max_running: z.int().min(1).max(5_000).default(1_000).meta({
    description:
      "Maximum concurrent runs of all triggers: 1 to 5,000, default 1,000. Further runs wait. A restricted principal may use an eighth of them, all restricted principals together half",
  }),
  adapter: z
    .strictObject({
      name: z.enum(["file_based", "cluster", "kv", "redis"]),
      config: z
        .strictObject({
          local: z.boolean().optional().meta({
            description:
              "In a cluster: true keeps the schedules at this engine, apart from those of the others. Default false",
          }),
          lock_ttl_ms: noEffect("a tick never starts twice, and needs no lock"),
          lock_index: noEffect("a tick never starts twice, and needs no lock"),
          redis_url: noEffect("schedules are stored in the data folder"),
          store_method: noEffect("schedules are stored in the data folder"),
          file_path: noEffect("schedules are stored in the data folder"),
          save_interval_ms: noEffect("each start is on disk before the function is called"),
        })
        .optional(),
    })
    .optional()
    .meta({
      description:
        "Where schedules and their last runs are stored: file_based (default; cron.db in the data folder), or cluster (the default with engine.cluster: each tick starts at one engine). Other names are ignored",
    }),
});

export type CronConfig = z.output<typeof cronConfigSchema>;
