/** A series of `engine::metrics::series`. */
export interface Series {
  readonly name: string;
  readonly unit: string;
  readonly type: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly service_name?: string;
  readonly worker_id?: string;
  readonly aggregate: string;
  readonly points: readonly (readonly [ms: number, value: number | null])[];
}

/** Maximum number of lines in a chart. */
export const MAX_LINES = 5;
const TONES = ["accent", "violet", "info", "warn", "danger"] as const;

/** Orders series by their latest value, the highest first. Series without a value come last. */
export function byLatest(series: readonly Series[]): readonly Series[] {
  return series.toSorted(
    (a, b) => (latestOf(b) ?? Number.NEGATIVE_INFINITY) - (latestOf(a) ?? Number.NEGATIVE_INFINITY),
  );
}

export function latestOf({ points }: Pick<Series, "points">): number | undefined {
  return points.findLast(([, value]) => value !== null)?.[1] ?? undefined;
}

/** Returns the labels of a series as text; the service or `all` without labels. */
export function labelText({ labels, service_name }: Pick<Series, "labels" | "service_name">): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return [...(service_name === undefined ? [] : [service_name]), ...parts].join(" ") || "all";
}

/** Returns the lines of a chart, with the times of all series. */
export function linesOf(series: readonly Series[]) {
  const shown = series.slice(0, MAX_LINES);
  const times = [...new Set(shown.flatMap(({ points }) => points.map(([ms]) => ms)))].sort((a, b) => a - b);
  const lines = shown.map((each, at) => {
    const values = new Map(each.points);
    return {
      name: labelText(each),
      tone: TONES[at % TONES.length] ?? "accent",
      values: times.map((ms) => values.get(ms) ?? null),
    };
  });
  return { times, lines };
}
