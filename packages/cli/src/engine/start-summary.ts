import { relative } from "node:path";
import type { RunningEngine } from "@svc-runtime/engine";
import type { Shell } from "../shell.ts";
import { hangingIndent } from "../terminal/word-wrap.ts";
import { workerAddHint } from "../workers/worker-add-hint.ts";

/** Returns the text that is printed after the engine has started: addresses, modules, workers and next steps. */
export function startSummary(
  engine: RunningEngine,
  { cwd, paint, noteColumns }: Pick<Shell, "cwd" | "paint" | "noteColumns">,
): string {
  const { boundTo, config } = engine;
  const modules = engine.modules();
  const workers = config.localWorkers;
  const row = (name: string, value: string): string =>
    hangingIndent(`  ${paint.dim(name.padEnd(14))}`, value, noteColumns).join("\n");
  const lines = [
    "",
    `${paint.bold(`svc ${engine.version}`)} ${paint.green("is running")}`,
    "",
    row("workers", `${paint.cyan(boundTo.bridge)}  address for workers (SVC_URL)`),
    ...boundTo.bridges.map((address) => row("", `${paint.cyan(address)}  additional, from engine.bridges`)),
    row("HTTP API", paint.cyan(boundTo.http)),
    row("live updates", paint.cyan(boundTo.realtime)),
    row("config", relative(cwd, config.file) || config.file),
    row(
      "modules",
      modules.length === 0
        ? "none configured"
        : modules.map(({ name, state }) => (state === "running" ? name : `${name} (${state})`)).join(", "),
    ),
    row(
      "local workers",
      workers.length === 0
        ? "none configured"
        : workers.map(({ name, replicas }) => (replicas === 1 ? name : `${name} ×${replicas}`)).join(", "),
    ),
    "",
    ...nextSteps(workers.length > 0, workerAddHint(cwd, config.file)).map((step) => `  ${step}`),
    "",
    paint.dim("Press Ctrl-C to stop the engine and its workers."),
    "",
    "",
  ];
  return lines.join("\n");
}

function nextSteps(hasWorkers: boolean, add: string): readonly string[] {
  if (hasWorkers) return ["Try in a second terminal:  svc worker list"];
  return [
    `Add a worker, in a second terminal:  ${add}`,
    "Or a module of the engine:           svc worker add svc-state",
  ];
}
