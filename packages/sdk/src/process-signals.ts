import type { Worker } from "./worker.ts";

const workers = new Set<Worker>();
let isEnding = false;
const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** On the first SIGTERM or SIGINT shuts this worker down, with all others given here, and exits 0. A second signal kills as ever. */
export function shutDownOnSignals(worker: Worker): void {
  if (workers.size === 0) for (const signal of SIGNALS) process.once(signal, onSignal);
  workers.add(worker);
  // A worker that was shut down by hand leaves the signals to the program again.
  worker.onConnectionState((state) => {
    if (state !== "closed" || !workers.delete(worker)) return;
    if (workers.size === 0) stopListening();
  });
}

/** True once a signal has begun to shut the workers down. */
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
  // The second signal must find the default behaviour, so that a shutdown that takes too long can be cut short.
  stopListening();
  void Promise.all(all.map((worker) => worker.shutdown())).then(
    () => process.exit(0),
    () => process.exit(1),
  );
}
