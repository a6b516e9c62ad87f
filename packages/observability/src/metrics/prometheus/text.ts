import type { MetricPoint, MetricRecord, Resource } from "../../telemetry-records.ts";

/** `prometheus` is the text format 0.0.4, `openmetrics` is OpenMetrics 1.0.0. */
export type TextFormat = "prometheus" | "openmetrics";

export const CONTENT_TYPES: Readonly<Record<TextFormat, string>> = {
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/** Unit names by UCUM code. Units without an entry are used unchanged. */
const UNITS: ReadonlyMap<string, string> = new Map([
  ["1", ""],
  ["", ""],
  ["ms", "milliseconds"],
  ["s", "seconds"],
  ["us", "microseconds"],
  ["ns", "nanoseconds"],
  ["By", "bytes"],
  ["%", "percent"],
]);

interface Family {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly lines: string[];
  /** Label sets that were already written. A duplicate would make the whole text invalid. */
  readonly seen: Set<string>;
}

/**
 * Returns the metrics as text for a scraper. Metrics of `own` get no labels for their origin. If two metrics have the
 * same name but different types, the first one is used.
 */
export function metricsText(records: readonly MetricRecord[], own: Resource, format: TextFormat): string {
  const families = new Map<string, Family>();
  for (const record of records) {
    const type = record.type === "up_down_counter" ? "gauge" : record.type;
    const name = familyName(record);
    let family = families.get(name);
    if (family === undefined) {
      family = { name, type, help: record.description, lines: [], seen: new Set() };
      families.set(name, family);
    }
    if (family.type !== type) continue;
    for (const point of record.points)
      addPoint(family, point, { resource: record.resource, isOwn: record.resource === own });
  }
  const text = [...families.values()].map((family) => familyText(family, format)).join("");
  return format === "openmetrics" ? `${text}# EOF\n` : text;
}

function familyText({ name, type, help, lines }: Family, format: TextFormat): string {
  const shown = type === "counter" && format === "prometheus" ? `${name}_total` : name;
  const escaped = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  const helpLine =
    help === "" ? "" : `# HELP ${shown} ${format === "openmetrics" ? escaped.replaceAll('"', '\\"') : escaped}\n`;
  return `${helpLine}# TYPE ${shown} ${type}\n${lines.join("")}`;
}

function addPoint(
  family: Family,
  { attributes, value }: MetricPoint,
  { resource, isOwn }: { readonly resource: Resource; readonly isOwn: boolean },
): void {
  // The engine's own metrics need no labels for their origin.
  const origin = isOwn
    ? {}
    : { service_name: resource.service, ...(resource.workerId === undefined ? {} : { worker_id: resource.workerId }) };
  const labels = labelsText({ ...origin, ...attributes });
  if (family.seen.has(labels)) return;
  family.seen.add(labels);
  const line = (suffix: string, more: string, number: number): void => {
    const all = [labels, more].filter((part) => part !== "").join(",");
    family.lines.push(`${family.name}${suffix}${all === "" ? "" : `{${all}}`} ${numberText(number)}\n`);
  };
  if (value.type === "number") {
    line(family.type === "counter" ? "_total" : "", "", value.value);
    return;
  }
  let below = 0;
  for (const [index, bound] of value.bounds.entries()) {
    below += value.bucketCounts[index] ?? 0;
    line("_bucket", `le="${boundText(bound)}"`, below);
  }
  line("_bucket", 'le="+Inf"', value.count);
  line("_sum", "", value.sum);
  line("_count", "", value.count);
}

/** Returns the name of a family: invalid characters become underscores, and the unit is appended. */
function familyName({ name, unit }: Pick<MetricRecord, "name" | "unit">): string {
  const unitName = UNITS.get(unit) ?? unit;
  let plain = plainName(name.replace(/_total$/, ""), /[^a-zA-Z0-9_:]/g);
  if (unit === "ms") plain = plain.replace(/_ms$/, "");
  const suffix = plainName(unitName, /[^a-zA-Z0-9_]/g).replace(/^_+|_+$/g, "");
  return suffix === "" || plain === suffix || plain.endsWith(`_${suffix}`) ? plain : `${plain}_${suffix}`;
}

function plainName(name: string, bad: RegExp): string {
  const plain = name.replace(bad, "_");
  return /^[0-9]/.test(plain) ? `_${plain}` : plain;
}

function labelsText(attributes: MetricPoint["attributes"]): string {
  const labels = new Map<string, string>();
  for (const [name, value] of Object.entries(attributes)) {
    const plain = plainName(name, /[^a-zA-Z0-9_]/g);
    // The label `le` is used by histograms, and Prometheus reserves names that begin with two underscores.
    const allowed = plain === "le" || plain === "" || plain.startsWith("__") ? `label_${plain}` : plain;
    if (!labels.has(allowed)) labels.set(allowed, String(value));
  }
  return [...labels]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([name, value]) => `${name}="${value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"')}"`,
    )
    .join(",");
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
}

/** Formats a bucket bound as a float, because OpenMetrics requires that. */
function boundText(bound: number): string {
  const text = numberText(bound);
  return /^-?[0-9]+$/.test(text) ? `${text}.0` : text;
}
