/**
 * Start timeout of engine and console, in milliseconds. It is long because the engine may have to open a large store.
 */
export const START_TIMEOUT_MS = 120_000;

/** Resolves with the outcome that settles first, or with "time up" after the timeout. No timer remains afterwards. */
export async function withinTime<Outcome>(
  outcomes: readonly Promise<Outcome>[],
  timeoutMs = START_TIMEOUT_MS,
): Promise<Outcome | "time up"> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<"time up">((settle) => {
    timer = setTimeout(() => settle("time up"), timeoutMs);
  });
  try {
    return await Promise.race([...outcomes, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits until the console is ready or has failed. After the timeout, reports it and resolves, so that everything else
 * keeps running.
 */
export async function untilConsoleIsUp(
  outcomes: readonly Promise<unknown>[],
  { report, timeoutMs = START_TIMEOUT_MS }: { readonly report: (message: string) => void; readonly timeoutMs?: number },
): Promise<void> {
  const outcome = await withinTime(outcomes, timeoutMs);
  if (outcome === "time up")
    report(
      `the console did not report that it is up within ${timeoutMs / 1000} s; everything else keeps running. Start another with: svc console`,
    );
}
