/** What alert rules compare, read from the stored series. */
export interface MetricReader {
  /** Takes in what was counted up to now; before an evaluation. Never throws. */
  refresh(): void;
  /**
   * The value of a metric over the last `windowSeconds`, and up to 6.5 s more, since what is kept is kept by steps (5 s within 15 min, longer ones before): of a counter its increase (per second of what was read when `rate`), of a gauge or up-down counter its mean, of a
   * histogram the number of values recorded (per second when `rate`). Series whose labels hold all of `labels` count together: increases are added up,
   * and so are the means of gauges. A counter that began within the window counts from 0. Null when there is no such series, or none with a value in the
   * window. `metric` is a name of ours, e.g. `svc.calls`, or of a worker's own. Never throws.
   */
  value(metric: string, labels: Readonly<Record<string, string>>, windowSeconds: number, rate: boolean): number | null;
  /** Why there is no series of this name, with the nearest name that there is; undefined when there is one, or will be. */
  missing(metric: string): string | undefined;
  /** Why nothing is measured at present; undefined while it is. */
  problem(): string | undefined;
}
