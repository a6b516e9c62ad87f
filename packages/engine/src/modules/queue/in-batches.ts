/** Maximum items per call of a long operation, so that other store calls run in between. */
const STEP = 2_000;

/** Calls `step` with a limit again and again until a call handles fewer items than the limit. Returns the total. */
export async function inBatches(step: (limit: number) => Promise<number>): Promise<number> {
  let all = 0;
  for (;;) {
    const some = await step(STEP);
    all += some;
    if (some < STEP) return all;
  }
}
