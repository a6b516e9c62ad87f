import { useState } from "react";

/** What is shown of something that goes on changing: as it is, or as it was when it was paused. */
export interface Paused<Value> {
  readonly shown: Value;
  readonly isPaused: boolean;
  readonly setPaused: (isPaused: boolean) => void;
}

export function usePause<Value>(value: Value): Paused<Value> {
  const [held, setHeld] = useState<{ readonly value: Value }>();
  return {
    shown: held === undefined ? value : held.value,
    isPaused: held !== undefined,
    setPaused: (isPaused) => setHeld(isPaused ? { value } : undefined),
  };
}
