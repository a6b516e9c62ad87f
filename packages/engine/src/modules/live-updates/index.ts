import { z } from "zod";
import { defineModule } from "../../kernel/module.ts";
import { DirectoryStreams } from "./directory-streams.ts";

/** Pushes changes of workers, functions, triggers and counters to clients of the real-time listener. */
export const liveUpdates = defineModule({
  name: "live-updates",
  summary: "Live workers, functions, triggers and counters over WebSocket",
  config: z.unknown(),
  start(context) {
    const streams = new DirectoryStreams(context);
    return { stop: () => streams.stop() };
  },
});
