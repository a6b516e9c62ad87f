// Colours of services. A colour alone never identifies a service: the name is always shown with it.

/** Number of colours in the theme (`--service-0` and so on). None is similar to the red of errors. */
const COLORS = 9;
const KEY = "svc.service-colors";
/** Maximum number of services whose colours are stored. */
const MAX_STORED = 200;

let colors: Map<string, number> | undefined;

function stored(): Map<string, number> {
  try {
    const parsed: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    const entries = typeof parsed === "object" && parsed !== null ? Object.entries(parsed) : [];
    return new Map(entries.filter(([, color]) => Number.isInteger(color) && color >= 0 && color < COLORS));
  } catch {
    return new Map();
  }
}

/** Returns the preferred colour of a service. It is a hash of the name, so that it is the same in all browsers. */
function preferred(service: string): number {
  let hash = 0;
  for (const character of service) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  return hash % COLORS;
}

/**
 * Returns the colour token of a service, for example `--service-3`. The token is the same in all traces and after a
 * reload. Services have different colours until all colours are in use.
 */
export function serviceToken(service: string): string {
  colors ??= stored();
  const known = colors.get(service);
  if (known !== undefined) return `--service-${known}`;
  const taken = new Set(colors.values());
  const first = preferred(service);
  const free = Array.from({ length: COLORS }, (_, step) => (first + step) % COLORS).find((each) => !taken.has(each));
  const color = free ?? first;
  if (colors.size < MAX_STORED) {
    colors.set(service, color);
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(colors)));
  }
  return `--service-${color}`;
}

/** Returns the colour of a service for styles. */
export function serviceColor(service: string): string {
  return `var(${serviceToken(service)})`;
}
