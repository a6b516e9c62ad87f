import { join } from "node:path";
import { cpuTimeUs, endedChildrenCpuUs } from "../cpu.ts";
import { type EngineOptions, type EngineProcess, startEngine } from "../engine-process.ts";
import { pause } from "../ports.ts";
import { spread } from "../statistics.ts";
import { type Scenario, type ScenarioContext, withServers } from "./scenario.ts";

const MINUTE_MS = 60_000;
const MAX_ROUNDS = 2;
const CRASHES = "echo 'cannot open the database' >&2; exit 1";

/**
 * Measures the cost of a command that crashes at every start, in the first minute of its crashes. The cost is the
 * difference between an engine with this command and an engine without it. Both engines run at the same time.
 */
export const crashLoop: Scenario = {
  title: "A command that crashes at every start",
  rows: [29],
  async run(context) {
    const rounds: { readonly first: number; readonly next: number }[] = [];
    for (let round = 0; round < Math.min(context.options.rounds, MAX_ROUNDS); round++)
      rounds.push(await measure(context, round));
    const bar = { row: 29, unit: "%", limit: 1, sense: "at most" } as const;
    return {
      measurements: [],
      bars: [
        {
          ...bar,
          standing: "binding",
          what: "of a core, in the minute of its first crashes",
          measured: spread(rounds.map(({ first }) => first)),
        },
        {
          ...bar,
          standing: "quoted",
          what: "of a core, in the minute after",
          measured: spread(rounds.map(({ next }) => next)),
        },
      ],
    };
  },
};

function measure(context: ScenarioContext, round: number): Promise<{ readonly first: number; readonly next: number }> {
  const start = (name: string, commands: EngineOptions["commands"] = []): Promise<EngineProcess> =>
    startEngine({ kind: context.options.engine, folder: join(context.folder, `${name}-${round}`), commands });
  const servers = {
    idle: () => start("idle"),
    crashing: () => start("crashing", [{ name: "crashes", command: CRASHES }]),
  };
  return withServers(servers, async ({ idle, crashing }) => {
    // The measurement begins with the start of the engines, so that it includes every crash. The cost of starting an
    // engine is the same for both engines.
    const more = (): number => usedUs(crashing) - usedUs(idle);
    await pause(MINUTE_MS);
    const first = more();
    await pause(MINUTE_MS);
    return { first: percentOf(first), next: percentOf(more() - first) };
  });
}

function usedUs({ pid }: EngineProcess): number {
  return cpuTimeUs(pid) + endedChildrenCpuUs(pid);
}

function percentOf(usedUs: number): number {
  return (usedUs / (MINUTE_MS * 1_000)) * 100;
}
