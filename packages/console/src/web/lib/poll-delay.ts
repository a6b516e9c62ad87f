/** Share of the time that the engine may spend on one polled call. */
const POLLED_SHARE = 0.05;

/** A result, the time of its request (on the page's clock), and how long it took. Both in milliseconds. */
export interface Timed<Answer> {
  readonly answer: Answer;
  readonly askedAtMs: number;
  readonly tookMs: number;
}

/** Calls `ask`, and measures when it began and how long it took. */
export async function timed<Answer>(ask: () => Promise<Answer>): Promise<Timed<Answer>> {
  const askedAtMs = Date.now();
  const begunMs = performance.now();
  const answer = await ask();
  return { answer, askedAtMs, tookMs: performance.now() - begunMs };
}

export function answerOf<Answer>({ answer }: Timed<Answer>): Answer {
  return answer;
}

/**
 * Returns the time until the next poll, in milliseconds: `everyMs`, or longer if the last result took long. So open
 * pages do not overload an engine that is busy or has much to search.
 */
export function untilNextPoll(last: Pick<Timed<unknown>, "tookMs"> | undefined, everyMs: number): number {
  return Math.max(everyMs, (last?.tookMs ?? 0) / POLLED_SHARE);
}

/** Calls `ask` repeatedly while the page is visible. Returns a function that stops this. */
export function pollWhileVisible(ask: () => Promise<void>, everyMs: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;
  const next = (tookMs: number): void => {
    if (!isStopped) timer = setTimeout(() => void poll(), untilNextPoll({ tookMs }, everyMs));
  };
  const poll = async (): Promise<void> => {
    if (document.visibilityState !== "visible") return next(0);
    const { tookMs } = await timed(ask);
    next(tookMs);
  };
  next(0);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
