// Colours alone never identify a service: its name is always shown too.
const BARS = ["bg-accent", "bg-info", "bg-violet", "bg-warn", "bg-ok", "bg-ink-3"] as const;
const TOKENS = ["--accent", "--info", "--violet", "--warn", "--ok", "--ink-3"] as const;

/** Returns a colour by the service's index in the trace. */
export function barClass(services: readonly string[], service: string): string {
  return BARS[Math.max(0, services.indexOf(service)) % BARS.length] ?? BARS[0];
}

export function colorToken(services: readonly string[], service: string): string {
  return TOKENS[Math.max(0, services.indexOf(service)) % TOKENS.length] ?? TOKENS[0];
}
