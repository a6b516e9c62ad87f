import { useState } from "react";

/** What is shown of something that goes on changing: as it is, or as it was when it was paused. */
export interface Paused<Value> {
  readonly shown: Value;
  readonly isPaused: boolean;
  readonly setPaused: (isPaused: boolean) => void;
}

/** `isLoaded`: false while the value says nothing yet. What is paused before is held as it is first. */
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
