import { type EngineOptions, type EngineProcess, startEngine } from "./engine-process.ts";
import { cpuUsPerOperation, type Window } from "./generator/load.ts";
import { placeLike } from "./pinning.ts";
import type { Generator, MeasuredTask } from "./processes.ts";
import { type Interval, median, medianInterval } from "./statistics.ts";
import { formatNumber, renderTable } from "./table.ts";

interface Pair {
  readonly name: string;
  readonly engine: EngineProcess;
  readonly other: EngineProcess;
}

/** Windows of the same load on both engines. The first of each is discarded, because it includes JIT compilation. */
interface Windows {
  readonly engine: Window[];
  readonly other: Window[];
  /** Whether the other checkout's engine is measured first. Changes in each round, so that both take turns. */
  startsWithOther: boolean;
}

/** CPU time per operation of an engine of this checkout, divided by that of the other checkout. */
export interface Compared {
  readonly load: string;
  readonly cpuUs: number;
  readonly otherCpuUs: number;
  readonly pairs: number;
  readonly ratio: Interval;
}

/**
 * Compares the engine of this checkout with that of another one. Each load of a scenario runs on both engines, one
 * directly after the other, because the machine has fast and slow phases.
 */
export class Comparison {
  readonly #otherCli: string;
  readonly #pairs: Pair[] = [];
  readonly #windows = new Map<string, Windows>();

  constructor(otherCli: string) {
    this.#otherCli = otherCli;
  }

  /** Starts the engine, and that of the other checkout with the same settings. */
  async start(name: string, options: EngineOptions): Promise<EngineProcess> {
    const engine = await startEngine(options);
    try {
      const other = await startEngine({
        ...options,
        folder: `${options.folder}-other`,
        profileFolder: undefined,
        cli: this.#otherCli,
      });
      this.#pairs.push({ name, engine, other });
      return {
        ...engine,
        stop: async () => void (await Promise.all([engine.stop(), other.stop()])),
      };
    } catch (error) {
      await engine.stop();
      throw error;
    }
  }

  /** Returns a generator that runs each load of an engine on the other engine, too. */
  generator(generator: Generator): Pick<Generator, "measure" | "perform" | "pid"> {
    return {
      pid: generator.pid,
      perform: (task) => generator.perform(task),
      measure: async (task) => {
        const pair = this.#pairs.find(({ engine }) => task.observe.includes(engine.pid));
        if (pair === undefined) return generator.measure(task);
        placeLike(pair.engine.pid, pair.other.pid);
        const otherTask = onOther(task, pair);
        const windows = this.#windowsOf(`${pair.name}: ${describe(task)}`);
        windows.startsWithOther = !windows.startsWithOther;
        const before = windows.startsWithOther ? await generator.measure(otherTask) : undefined;
        const window = await generator.measure(task);
        windows.other.push(before ?? (await generator.measure(otherTask)));
        windows.engine.push(window);
        return window;
      },
    };
  }

  results(): readonly Compared[] {
    return [...this.#windows].flatMap(([load, { engine, other }]) => {
      const [ours, theirs] = [engine, other].map((windows) => windows.slice(1).map(cpuUsPerOperation)) as [
        number[],
        number[],
      ];
      if (ours.length === 0) return [];
      return {
        load,
        cpuUs: median(ours),
        otherCpuUs: median(theirs),
        pairs: ours.length,
        ratio: medianInterval(ours.map((value, at) => value / (theirs[at] as number))),
      };
    });
  }

  #windowsOf(load: string): Windows {
    const windows = this.#windows.get(load) ?? { engine: [], other: [], startsWithOther: false };
    this.#windows.set(load, windows);
    return windows;
  }
}

/** Returns the load with the ports and the process of the other engine. */
function onOther(task: MeasuredTask, { engine, other }: Pair): MeasuredTask {
  const ports = new Map([
    [engine.port, other.port],
    [engine.httpPort, other.httpPort],
    [engine.realtimePort, other.realtimePort],
  ]);
  const mapped = JSON.stringify(task, (name, value: unknown) =>
    name === "port" || name === "bridgePort" ? (ports.get(value as number) ?? value) : value,
  );
  const observe = task.observe.map((pid) => (pid === engine.pid ? other.pid : pid));
  return { ...(JSON.parse(mapped) as MeasuredTask), observe };
}

/** Returns a description that distinguishes the load from other loads of the scenario. */
function describe(task: MeasuredTask): string {
  const { warmUpMs, measureMs, observe, ...load } = task;
  return Object.entries(load)
    .filter(([name]) => name !== "port" && name !== "callers" && name !== "callees")
    .map(([name, value]) => (name === "calls" ? `${(value as { readonly routes: number }).routes} routes` : `${value}`))
    .join(" ");
}

/** Renders the results. A ratio below 1 means that this checkout takes less CPU time. */
export function renderCompared(results: readonly Compared[]): string {
  const rows = results.map(({ load, cpuUs, otherCpuUs, pairs, ratio }) => [
    load,
    formatNumber(otherCpuUs),
    formatNumber(cpuUs),
    ratio.median.toFixed(3),
    `[${ratio.low.toFixed(3)}-${ratio.high.toFixed(3)}]`,
    String(pairs),
  ]);
  return renderTable(
    ["load", "other: CPU us/op", "this: CPU us/op", "this / other", "95 %", "pairs"],
    rows,
    new Set([1, 2, 3, 4, 5]),
  );
}
