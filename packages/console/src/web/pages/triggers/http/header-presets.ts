import { t } from "../../../labels/translate.ts";
import type { Row } from "./http-request.ts";

/** A set of headers that are added together. */
export interface HeaderPreset {
  readonly name: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export const BUILT_IN: readonly HeaderPreset[] = [
  { name: t`Accept JSON`, headers: [["accept", "application/json"]] },
  { name: t`No cache`, headers: [["cache-control", "no-cache"]] },
  { name: t`If unchanged`, headers: [["if-none-match", '"etag"']] },
  {
    name: t`CORS preflight`,
    headers: [
      ["origin", "http://localhost:3000"],
      ["access-control-request-method", "POST"],
      ["access-control-request-headers", "content-type"],
    ],
  },
  { name: t`Idempotency key`, headers: [["idempotency-key", "key-1"]] },
];

const KEY = "svc.header-presets";
const MAX_PRESETS = 20;
const MAX_NAME = 80;
/** Names of headers that contain credentials. These headers are never stored. */
const CREDENTIALS: ReadonlySet<string> = new Set([
  "authorization",
  "cookie",
  "proxy-authorization",
  "x-api-key",
  "x-auth-token",
]);

function isPreset(value: unknown): value is HeaderPreset {
  if (typeof value !== "object" || value === null) return false;
  const { name, headers } = value as Partial<HeaderPreset>;
  return (
    typeof name === "string" &&
    Array.isArray(headers) &&
    headers.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === "string"))
  );
}

/** Returns the presets that were saved in this browser. */
export function savedPresets(): readonly HeaderPreset[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isPreset).slice(0, MAX_PRESETS) : [];
  } catch {
    return [];
  }
}

/** Returns the headers of a preset: the rows that are switched on, except those with credentials. */
export function storable(rows: readonly Row[]): HeaderPreset["headers"] {
  return rows
    .filter(({ on, name }) => on && name.trim() !== "" && !CREDENTIALS.has(name.trim().toLowerCase()))
    .map(({ name, value }) => [name.trim(), value] as const);
}

/**
 * Saves the rows as the first preset. A preset with the same name is replaced. If there are too many, the oldest are
 * removed.
 */
export function savePreset(name: string, rows: readonly Row[]): void {
  const preset: HeaderPreset = { name: name.trim().slice(0, MAX_NAME), headers: storable(rows) };
  const others = savedPresets().filter((each) => each.name !== preset.name);
  localStorage.setItem(KEY, JSON.stringify([preset, ...others].slice(0, MAX_PRESETS)));
}

export function deletePreset(name: string): void {
  localStorage.setItem(KEY, JSON.stringify(savedPresets().filter((each) => each.name !== name)));
}

/**
 * Returns the rows together with the headers of the preset. If a row has the same name as a header, the preset's value
 * is used.
 */
export function withPreset(rows: readonly Row[], { headers }: HeaderPreset): readonly Row[] {
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  const kept = rows.filter(({ name }) => name.trim() !== "" && !names.has(name.trim().toLowerCase()));
  const first = Math.min(0, ...rows.map(({ id }) => id));
  return [...kept, ...headers.map(([name, value], at) => ({ id: first - 1 - at, name, value, on: true }))];
}
