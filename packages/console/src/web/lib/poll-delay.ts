/** Share of the time that the engine may spend on the answers to one polled call. */
const POLLED_SHARE = 0.05;

/** An answer, when it was asked for, and how long it took. In milliseconds, by the page's clock. */
export interface Timed<Answer> {
  readonly answer: Answer;
  readonly askedAtMs: number;
  readonly tookMs: number;
}

/** Asks, and notes when and how long it took. */
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
 * Returns the time until the next poll in milliseconds: `everyMs`, or longer if the last answer took long. So open
 * pages do not occupy an engine that is busy or has very much to search.
 */
export function untilNextPoll(last: Pick<Timed<unknown>, "tookMs"> | undefined, everyMs: number): number {
  return Math.max(everyMs, (last?.tookMs ?? 0) / POLLED_SHARE);
}

/** Asks again and again while the page is visible. Returns a function that stops it. */
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
