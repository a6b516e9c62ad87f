import type { Clock } from "./clock.ts";
import type { ComponentHealth, ComponentReport, HealthProbe, HealthStatus } from "./health-contract.ts";
import type { Logger } from "./logger.ts";
import type { Undo } from "./scope.ts";

const RANK: Readonly<Record<HealthStatus, number>> = { disabled: 0, healthy: 1, degraded: 2, unhealthy: 3 };

interface Reporter {
  /** The module's name. */
  readonly name: string;
  readonly probe: HealthProbe;
}

/** Collects the health of components from modules, with the time of the last change. */
export class HealthBoard {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #reporters = new Map<string, Set<Reporter>>();
  readonly #seen = new Map<string, { readonly status: HealthStatus; readonly sinceMs: number }>();

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  report(component: string, name: string, probe: HealthProbe): Undo {
    const reporter = { name, probe };
    const reporters = this.#reporters.get(component) ?? new Set();
    this.#reporters.set(component, reporters.add(reporter));
    return () => {
      reporters.delete(reporter);
      if (reporters.size > 0 || this.#reporters.get(component) !== reporters) return;
      this.#reporters.delete(component);
      this.#seen.delete(component);
    };
  }

  /**
   * Runs all probes; the result is sorted by component. Logs each component whose status changed since the last read.
   */
  read(): readonly ComponentReport[] {
    const reports: ComponentReport[] = [];
    for (const [component, reporters] of this.#reporters) {
      const health = worstOf([...reporters].flatMap((reporter) => this.#probe(component, reporter)));
      if (health !== undefined) reports.push({ component, ...health, sinceMs: this.#record(component, health) });
    }
    return reports.sort((a, b) => (a.component < b.component ? -1 : 1));
  }

  #probe(component: string, { name, probe }: Reporter): readonly (ComponentHealth & { readonly name: string })[] {
    try {
      const health = probe();
      return health === undefined ? [] : [{ name, ...health }];
    } catch (error) {
      this.#log.error("a health probe failed", { component, module: name, error });
      return [
        {
          name,
          status: "unhealthy",
          details: `its health probe failed: ${error instanceof Error ? error.message : String(error)}`,
        },
      ];
    }
  }

  #record(component: string, { status, details }: ComponentHealth): number {
    const before = this.#seen.get(component);
    if (before?.status === status) return before.sinceMs;
    const sinceMs = this.#clock.now();
    this.#seen.set(component, { status, sinceMs });
    const fields = { component, status, details, ...(before === undefined ? {} : { before: before.status }) };
    if (status === "unhealthy") this.#log.error("a component is unhealthy", fields);
    else if (status === "degraded") this.#log.warn("a component is degraded", fields);
    else if (before?.status === "degraded" || before?.status === "unhealthy")
      this.#log.info("a component is healthy again", fields);
    return sinceMs;
  }
}

/** Returns the worst status with the details of its reports, each prefixed with its module's name. */
function worstOf(reports: readonly (ComponentHealth & { readonly name: string })[]): ComponentHealth | undefined {
  const [first, ...others] = reports;
  if (first === undefined) return undefined;
  const status = others.reduce(
    (worst, report) => (RANK[report.status] > RANK[worst] ? report.status : worst),
    first.status,
  );
  const worst = reports.filter((report) => report.status === status && report.details !== "");
  return { status, details: worst.map(({ name, details }) => `${name}: ${details}`).join("; ") };
}
