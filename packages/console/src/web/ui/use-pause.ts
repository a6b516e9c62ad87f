import { useState } from "react";

/** A value that changes and can be paused. */
export interface Paused<Value> {
  readonly shown: Value;
  readonly isPaused: boolean;
  readonly setPaused: (isPaused: boolean) => void;
}

/**
 * Returns the value, which can be paused. `isLoaded` is false until there is a value. If it is paused before that, the
 * first value is frozen.
 */
export function usePause<Value>(value: Value, isLoaded: boolean): Paused<Value> {
  const [isPaused, setPaused] = useState(false);
  const [held, setHeld] = useState<{ readonly value: Value }>();
  if (isPaused && isLoaded && held === undefined) setHeld({ value });
  return {
    shown: held === undefined ? value : held.value,
    isPaused,
    setPaused: (next) => {
      setPaused(next);
      setHeld(undefined);
    },
  };
}
