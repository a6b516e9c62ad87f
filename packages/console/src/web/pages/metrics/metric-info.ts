/** A metric of `engine::metrics::list`. */
export interface MetricInfo {
  readonly name: string;
  readonly type: string;
  readonly unit: string;
  readonly description: string;
  /** Number of series, one for each set of labels. */
  readonly series: number;
}
