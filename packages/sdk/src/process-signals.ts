import type { Worker } from "./worker.ts";

const workers = new Set<Worker>();
let isEnding = false;
const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/**
 * Shuts this worker down on the first SIGTERM or SIGINT, with all others passed here, and exits with 0. A second signal
 * ends the process at once, as by default.
 */
export function shutDownOnSignals(worker: Worker): void {
  if (workers.size === 0) for (const signal of SIGNALS) process.once(signal, onSignal);
  workers.add(worker);
  // After the last worker was shut down by the program, signals have their default effect again.
  worker.onConnectionState((state) => {
    if (state !== "closed" || !workers.delete(worker)) return;
    if (workers.size === 0) stopListening();
  });
}

/** True once a signal has started the shutdown of the workers. */
export function processIsEnding(): boolean {
  return isEnding;
}

function stopListening(): void {
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

function onSignal(): void {
  isEnding = true;
  const all = [...workers];
  workers.clear();
  // Restores the default behaviour, so that a second signal can cut a long shutdown short.
  stopListening();
  void Promise.all(all.map((worker) => worker.shutdown())).then(
    () => process.exit(0),
    () => process.exit(1),
  );
}
