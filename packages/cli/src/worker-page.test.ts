import pc from "picocolors";
import { describe, expect, it } from "vitest";
import type { WorkerReport } from "./worker-functions.ts";
import type { WorkerLine } from "./worker-logs.ts";
import { workerPage } from "./worker-page.ts";

const report: WorkerReport = {
  name: "math",
  kind: "local",
  state: "ready",
  reason: null,
  problem: null,
  pids: [],
  replicas: [],
  restarts: 0,
  last_exit: null,
  next_start_at: null,
  ready_at: null,
  waits_for: [],
  memory_bytes: null,
  cpu_percent: null,
  functions: [],
  trigger_types: [],
  tail: [],
  log_file: null,
};
const time = "2026-01-31T10:00:00.000Z";
const line = (text: string): WorkerLine => ({ worker: "math", time, stream: "err", replica: null, text });
const stack = `Error: no\n${Array.from({ length: 20 }, (_, frame) => `    at frame${frame} (math.ts:1:1)`).join("\n")}\n`;
const failure = line(JSON.stringify({ time, level: "error", message: "it failed", error: { message: "no", stack } }));

function output(lines: readonly WorkerLine[], tail: number): readonly string[] {
  const page = workerPage({ report, triggers: [], lines, tail }, pc.createColors(false));
  return page.slice(page.indexOf("Last output") + 1);
}

describe("the last output on a worker's page", () => {
  it("takes no more lines than were asked for, also where entries have stacks", () => {
    const shown = output([failure, line("after it"), line("at last")], 6);
    expect(shown).toHaveLength(6);
    expect(shown[0]).toContain("error it failed");
    expect(shown[3]).toBe("    …");
    expect(shown.at(-1)).toContain("at last");
  });

  it("shows a stack whole where there is room, without its empty last line", () => {
    const shown = output([failure], 100);
    expect(shown).toHaveLength(22);
    expect(shown.at(-1)).toContain("at frame19");
  });
});
