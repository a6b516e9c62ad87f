const reported = new Set<string>();

/** Logs to the console that an old name was used. Logs once per process for each `what`. */
export function deprecated(what: string, name: string): void {
  if (reported.has(what)) return;
  reported.add(what);
  // biome-ignore lint/suspicious/noConsole: the worker's logger is for its own lines; this is for the developer
  console.warn(`svc: ${what} is deprecated and will be removed in the next release; use ${name}`);
}
