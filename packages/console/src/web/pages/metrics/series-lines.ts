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
/** Colours of the lines. The red of errors is not among them. */
const TONES = ["accent", "violet", "info", "warn", "service-3"] as const;

/** Sorts series by their highest value, the highest first. Series without values come last. */
export function byHighest(series: readonly Series[]): readonly Series[] {
  const highest = new Map(series.map((each) => [each, highestOf(each)]));
  return series.toSorted((a, b) => (highest.get(b) as number) - (highest.get(a) as number));
}

function highestOf({ points }: Series): number {
  return points.reduce((highest, [, value]) => Math.max(highest, value ?? highest), Number.NEGATIVE_INFINITY);
}

export function latestOf({ points }: Pick<Series, "points">): number | undefined {
  return points.findLast(([, value]) => value !== null)?.[1] ?? undefined;
}

type Identity = Pick<Series, "labels" | "service_name" | "worker_id">;

/** Returns the service, worker and labels of a series as text. Returns `all` if it has none. */
export function labelText({ labels, service_name, worker_id }: Identity): string {
  const parts = [
    ...(service_name === undefined ? [] : [service_name]),
    ...(worker_id === undefined ? [] : [`worker=${worker_id}`]),
    ...Object.entries(labels).map(([name, value]) => `${name}=${value}`),
  ];
  return parts.join(" ") || "all";
}

/**
 * Returns a name for each series, all different. If a name is already used, for example by a series of another
 * instrumentation scope, a number is added.
 */
export function namesOf(series: readonly Identity[]): readonly string[] {
  const names = new Set<string>();
  for (const each of series) {
    const name = labelText(each);
    let unique = name;
    for (let count = 2; names.has(unique); count++) unique = `${name} (${count})`;
    names.add(unique);
  }
  return [...names];
}

/** Returns the lines of a chart. Their times are those of all series. */
export function linesOf(series: readonly Series[]) {
  const shown = series.slice(0, MAX_LINES);
  const names = namesOf(shown);
  const times = [...new Set(shown.flatMap(({ points }) => points.map(([ms]) => ms)))].sort((a, b) => a - b);
  const lines = shown.map((each, at) => {
    const values = new Map(each.points);
    return {
      name: names[at] ?? "",
      tone: TONES[at % TONES.length] ?? "accent",
      values: times.map((ms) => values.get(ms) ?? null),
    };
  });
  return { times, lines };
}
