// The operations of the load's workers, derived from the seed. `writer.py` has the same code.

/** Number of workers, and of key prefixes: worker n watches the keys of `k{n}/`. */
export const WORKERS = 4;
const KEYS_PER_PREFIX = 10;

export interface Operation {
  readonly key: string;
  readonly kind: "set" | "update";
}

/** Returns operation `number` of worker `worker`. */
export function operation(seed: number, worker: number, number: number): Operation {
  const first = scramble((seed + worker * 1_000_003 + number * 7_919) >>> 0);
  const second = scramble(first);
  const third = scramble(second);
  return {
    key: `k${(first >>> 16) % WORKERS}/${(second >>> 16) % KEYS_PER_PREFIX}`,
    kind: (third >>> 16) % 2 === 0 ? "set" : "update",
  };
}

export function allKeys(): readonly string[] {
  return Array.from(
    { length: WORKERS * KEYS_PER_PREFIX },
    (_, at) => `k${Math.floor(at / KEYS_PER_PREFIX)}/${at % KEYS_PER_PREFIX}`,
  );
}

/** One step of a linear congruential generator modulo 2^32. Only the upper bits are random enough. */
function scramble(state: number): number {
  return (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
}

/** Returns the seed of SVC_SEED, else a new one, and a generator of numbers from 0 to 1 that it determines. */
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
