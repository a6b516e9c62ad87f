export { CronCalls } from "./cron/cron-calls.ts";
export { QueueCalls } from "./queue/queue-calls.ts";
