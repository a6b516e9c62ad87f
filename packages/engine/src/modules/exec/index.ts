import { execBlockSchema } from "../../config/exec-block.ts";
import { defineModule } from "../../kernel/module.ts";

/**
 * Plain commands beside the engine. The engine hands what the block names to the supervisor, which runs it as it runs workers: how processes are
 * started, watched, logged, restarted and ended is decided in one place.
 */
export const exec = defineModule({
  name: "svc-exec",
  summary: "Commands that the engine keeps running beside it",
  config: execBlockSchema,
  start: () => ({ reconfigure: () => {}, stop: () => {} }),
});
