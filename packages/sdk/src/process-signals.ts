import type { Worker } from "./worker.ts";

const workers = new Set<Worker>();
let isEnding = false;
const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/**
 * Shuts this worker down on the first SIGTERM or SIGINT, together with all other workers passed here, and then exits
 * with 0. A second signal ends the process at once, which is the default effect of a signal.
 */
export function shutDownOnSignals(worker: Worker): void {
  if (workers.size === 0) for (const signal of SIGNALS) process.once(signal, onSignal);
  workers.add(worker);
  // When the program has shut down the last worker, signals have their default effect again.
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
  // Restores the default effect of signals, so that a second signal can end a long shutdown.
  stopListening();
  void Promise.all(all.map((worker) => worker.shutdown())).then(
    () => process.exit(0),
    () => process.exit(1),
  );
}
