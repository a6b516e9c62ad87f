/** How long what svc dev starts may take to say that it is up: the engine may have a large store to open. */
export const START_TIMEOUT_MS = 120_000;

/** The first of the outcomes, or "time up" when there is none in time. Leaves no timer behind. */
export async function withinTime<Outcome>(outcomes: readonly Promise<Outcome>[], timeoutMs = START_TIMEOUT_MS): Promise<Outcome | "time up"> {
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

/** Resolves with the first of the outcomes of a console that starts. One that says nothing in time is told and keeps nothing else from running. */
export async function untilConsoleIsUp(
  outcomes: readonly Promise<unknown>[],
  { tell, timeoutMs = START_TIMEOUT_MS }: { readonly tell: (message: string) => void; readonly timeoutMs?: number },
): Promise<void> {
  const outcome = await withinTime(outcomes, timeoutMs);
  if (outcome === "time up")
    tell(`nothing was heard of the console within ${timeoutMs / 1000} s; everything else goes on. Another can be started with: svc console`);
}
