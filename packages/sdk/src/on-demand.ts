import { CallError } from "@svc-runtime/protocol/client";
import { systemClock } from "./clock.ts";

/** A part of the SDK. On Node, it is present from the start. A page loads it when it is first used. */
export type Part<Contents> = () => Contents | Promise<Contents>;

/** Time limit for loading a part, in milliseconds. */
export const LOAD_TIMEOUT_MS = 30_000;

/** Loads a part. Rejects with `part_not_loaded` if that takes more than 30 seconds. A later call tries again. */
export async function loadPart<Contents>(part: Part<Contents>): Promise<Contents> {
  let cancelTimer: () => void = () => {};
  const late = new Promise<never>((_resolve, reject) => {
    cancelTimer = systemClock.after(LOAD_TIMEOUT_MS, () => reject(`it took over ${LOAD_TIMEOUT_MS} ms`));
  });
  try {
    return await Promise.race([part(), late]);
  } catch (cause) {
    throw new CallError("part_not_loaded", `a part of the SDK could not be loaded: ${String(cause)}`, { cause });
  } finally {
    cancelTimer();
  }
}

interface WaitingAction<Value> {
  readonly run: (value: Value) => void;
  /** Called if the part cannot be loaded. Absent if the action does not itself cause the creation of the value. */
  readonly fail?: (error: CallError) => void;
}

/**
 * A value that is created when it is first used. The part of the SDK that creates it may have to be loaded first. An
 * action runs at once if the value exists, otherwise when it has been created. Actions run in the order in which they
 * were requested.
 */
export class OnDemand<Contents, Value> {
  readonly #part: Part<Contents>;
  readonly #create: (contents: Contents) => Value;
  readonly #onLoading: ((loading: Promise<void>) => void) | undefined;
  #value: Value | undefined;
  #waiting: WaitingAction<Value>[] = [];
  #isBeingCreated = false;
  #loading: Promise<void> | undefined;

  /** `onLoading` is called with `loading` each time the part must be loaded. */
  constructor(
    part: Part<Contents>,
    create: (contents: Contents) => Value,
    onLoading?: (loading: Promise<void>) => void,
  ) {
    this.#part = part;
    this.#create = create;
    this.#onLoading = onLoading;
  }

  /** The value. Undefined until it is created. */
  get value(): Value | undefined {
    return this.#value;
  }

  /**
   * Resolves when the waiting actions have run, or when the part could not be loaded. Undefined if the part is not
   * being loaded. Never rejects.
   */
  get loading(): Promise<void> | undefined {
    return this.#loading;
  }

  /** Creates the value. */
  load(): void {
    if (this.#value !== undefined || this.#isBeingCreated) return;
    this.#isBeingCreated = true;
    const contents = this.#part();
    if (!(contents instanceof Promise)) {
      this.#created(contents);
      return;
    }
    this.#loading = loadPart(() => contents).then(
      (loaded) => this.#created(loaded),
      (error: CallError) => this.#failed(error),
    );
    this.#onLoading?.(this.#loading);
  }

  /** Creates the value and runs `action`, which must not throw. Calls `fail` if the part cannot be loaded. */
  run(action: (value: Value) => void, fail: (error: CallError) => void): void {
    this.load();
    if (this.#value === undefined) this.#waiting.push({ run: action, fail });
    else action(this.#value);
  }

  /** Creates the value and returns the result of `action`. Rejects with `part_not_loaded`. */
  use<Result>(action: (value: Value) => Promise<Result>): Promise<Result> {
    this.load();
    if (this.#value !== undefined) return action(this.#value);
    return new Promise((resolve, reject) => this.run((value) => action(value).then(resolve, reject), reject));
  }

  /**
   * Runs `action`, which must not throw, when the value exists. If the value is never created, `action` never runs. It
   * runs before all actions that are requested later.
   */
  whenCreated(action: (value: Value) => void): void {
    if (this.#value === undefined) this.#waiting.push({ run: action });
    else action(this.#value);
  }

  #created(contents: Contents): void {
    const value = this.#create(contents);
    // An action may request further actions. These run after the waiting ones, because `#value` is set last.
    for (const { run } of this.#waiting) run(value);
    this.#waiting = [];
    this.#value = value;
    this.#loading = undefined;
  }

  #failed(error: CallError): void {
    this.#isBeingCreated = false;
    this.#loading = undefined;
    const failed = this.#waiting;
    this.#waiting = failed.filter(({ fail }) => fail === undefined);
    for (const { fail } of failed) fail?.(error);
  }
}
