import type { Attributes, AttributeValue } from "@svc-runtime/engine/module";

export type Labels = Readonly<Record<string, string>>;

/** Limits for external labels. */
const MAX_LABELS = 32;
const MAX_NAME_LENGTH = 128;
const MAX_VALUE_LENGTH = 256;

/** Returns a key that identifies a series among the series of one metric. */
export function labelsKey(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function hasLabels(labels: Labels, wanted: Labels): boolean {
  for (const name of Object.keys(wanted))
    if (!Object.hasOwn(labels, name) || labels[name] !== wanted[name]) return false;
  return true;
}

/**
 * Converts attributes to labels. Returns undefined if they exceed the limits, because cutting them could make different
 * series equal.
 */
export function labelsOf(attributes: Attributes, more: Labels = {}): Labels | undefined {
  const labels: Record<string, string> = Object.create(null) as Record<string, string>;
  let count = 0;
  for (const name in attributes) {
    if (!Object.hasOwn(attributes, name)) continue;
    const value = textOf(attributes[name] as AttributeValue);
    if (++count > MAX_LABELS || name.length > MAX_NAME_LENGTH || value === undefined || value.length > MAX_VALUE_LENGTH)
      return undefined;
    labels[name] = value;
  }
  return Object.assign(labels, more);
}

function textOf(value: AttributeValue): string | undefined {
  if (typeof value === "string") return value;
  if (value === null) return "";
  return typeof value === "object" ? undefined : String(value);
}
