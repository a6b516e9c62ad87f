import { execBlockSchema } from "../../config/blocks/exec-block.ts";
import { defineModule } from "../../kernel/module.ts";

/**
 * Runs plain commands beside the engine. The module itself does nothing: the supervisor runs the commands of the config
 * block like workers, so that one place starts, watches, logs, restarts and stops processes.
 */
export const exec = defineModule({
  name: "svc-exec",
  summary: "Commands that the engine runs beside itself",
  config: execBlockSchema,
  start: () => ({ reconfigure: () => {}, stop: () => {} }),
});
