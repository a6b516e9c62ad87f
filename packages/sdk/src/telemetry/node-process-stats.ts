import type { ProcessStats } from "./worker-gauges.ts";

export const nodeProcessStats: ProcessStats = {
  cpuMs() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
  rssBytes: () => process.memoryUsage.rss(),
  heapUsedBytes: () => process.memoryUsage().heapUsed,
  uptimeSeconds: () => process.uptime(),
};
