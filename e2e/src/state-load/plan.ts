// What the workers of the load do, decided by the seed alone. `writer.py` holds the same.

/** Workers, and prefixes of keys: worker n watches the keys of `k{n}/`. */
export const WORKERS = 4;
const KEYS_PER_PREFIX = 10;

export interface Operation {
  readonly key: string;
  readonly kind: "set" | "update";
}

/** What operation `number` of worker `worker` does. */
export function operation(seed: number, worker: number, number: number): Operation {
  const first = scramble((seed + worker * 1_000_003 + number * 7_919) >>> 0);
  const second = scramble(first);
  const third = scramble(second);
  return { key: `k${(first >>> 16) % WORKERS}/${(second >>> 16) % KEYS_PER_PREFIX}`, kind: (third >>> 16) % 2 === 0 ? "set" : "update" };
}

export function allKeys(): readonly string[] {
  return Array.from({ length: WORKERS * KEYS_PER_PREFIX }, (_, at) => `k${Math.floor(at / KEYS_PER_PREFIX)}/${at % KEYS_PER_PREFIX}`);
}

/** One step of a linear congruential generator modulo 2^32; only the upper bits are any good. */
function scramble(state: number): number {
  return (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
}

/** The seed that SVC_SEED names, else a new one; and numbers from 0 to 1 that follow from it. */
export function seeded(): { readonly seed: number; random(): number } {
  const named = Number(process.env.SVC_SEED ?? Number.NaN);
  const seed = Number.isInteger(named) && named >= 0 ? named : Math.floor(Math.random() * 2 ** 31);
  let state = scramble(seed >>> 0);
  return {
    seed,
    random() {
      state = scramble(state);
      return (state >>> 8) / 2 ** 24;
    },
  };
}
