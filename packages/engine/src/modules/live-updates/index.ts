import { z } from "zod";
import { defineModule } from "../../kernel/module.ts";
import { serveClient } from "./client.ts";
import { SystemStreams } from "./system-streams.ts";

/** Pushes workers, functions, triggers and counters to clients of the real-time listener as they change. */
export const liveUpdates = defineModule({
  name: "live-updates",
  summary: "Live workers, functions, triggers and counters over WebSocket",
  config: z.unknown(),
  start({ directory, clock, mountSocket }) {
    const streams = new SystemStreams(directory, clock);
    mountSocket("/", (socket) => serveClient(socket, streams));
    return { stop: () => streams.stop() };
  },
});
