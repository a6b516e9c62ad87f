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
const traceback = `Traceback (most recent call last):\n${'  File "worker.py", line 8, in answer\n    return {}["a"]\n'.repeat(9)}RuntimeError: no database\n`;
const pythonFailure = line(
  JSON.stringify({
    time,
    level: "error",
    message: "a handler failed",
    error: { message: "no database", stack: traceback },
  }),
);

function output(lines: readonly WorkerLine[], tail: number): readonly string[] {
  const page = workerPage({ report, triggers: [], lines, tail }, pc.createColors(false));
  return page.slice(page.indexOf("Last output") + 1);
}

describe("the last output on a worker's page", () => {
  it("has at most the requested number of lines, even with stacks", () => {
    const shown = output([failure, line("after it"), line("at last")], 6);
    expect(shown).toHaveLength(6);
    expect(shown[0]).toContain("error it failed");
    expect(shown[2]).toBe("    …");
    expect(shown.at(-1)).toContain("at last");
  });

  it("shows a complete stack if it fits, without its empty last line", () => {
    const shown = output([failure], 100);
    expect(shown).toHaveLength(22);
    expect(shown.at(-1)).toContain("at frame19");
  });

  it("keeps the end of a long stack, where Python names the error", () => {
    const shown = output([pythonFailure], 10);
    expect(shown).toHaveLength(10);
    expect(shown[0]).toContain("error a handler failed");
    expect(shown[5]).toBe("    …");
    expect(shown.at(-1)).toBe("    RuntimeError: no database");
    expect(output([pythonFailure, line("at last")], 3)).toEqual([
      shown[0],
      "    … RuntimeError: no database",
      expect.stringContaining("at last"),
    ]);
  });
});

describe("the last exit on a worker's page", () => {
  it("formats a logger's lines, limited and with the end of the stack", () => {
    const last_exit = { code: 1, signal: null, at: time, lines: ["starting up", pythonFailure.text] };
    const page = workerPage(
      { report: { ...report, state: "backing_off", last_exit }, triggers: [], lines: [], tail: 10 },
      pc.createColors(false),
    );
    const shown = page.filter((row) => row.includes("| ")).map((row) => row.trim());
    expect(shown).toHaveLength(12);
    expect(shown[0]).toMatch(/^\| error a handler failed/);
    expect(shown.at(-1)).toBe("|     RuntimeError: no database");
  });
});

it("counts only restarts after a crash on a worker's page", () => {
  const page = workerPage(
    { report: { ...report, restarts: 2 }, triggers: [], lines: [], tail: 10 },
    pc.createColors(false),
  );
  expect(page).toContainEqual(expect.stringMatching(/^restarts +2 after a crash$/));
});
