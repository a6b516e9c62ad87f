import { CommandFailure } from "./exit-codes.ts";
import { noteFailure } from "./failure-note.ts";
import type { Shell } from "./shell.ts";

export interface SeveralOptions<Result> {
  readonly names: readonly string[];
  /** What could not be done, e.g. "be added". */
  readonly verb: string;
  readonly json: boolean;
  /** The signal aborts when the user wants an end; what is under way may finish or give up, and nothing after it is begun. */
  readonly action: (name: string, signal: AbortSignal) => Promise<Result>;
}

/**
 * Does the same for each name, one after another. One that fails is told and does not keep the others from being done; the command then ends
 * with 1, or with that failure's own status where it was the only name. With `json` the outcomes are printed on standard output.
 */
export async function doSeveral<Result>(shell: Shell, { names, verb, json, action }: SeveralOptions<Result>): Promise<void> {
  const stop = new AbortController();
  const undo = shell.onStopSignal(() => stop.abort());
  const workers: Result[] = [];
  const failed: { readonly worker: string; readonly message: string; readonly error: unknown }[] = [];
  let begun = 0;
  try {
    for (const name of names) {
      if (stop.signal.aborted) break;
      begun += 1;
      if (names.length > 1) shell.note(`${shell.paint.bold(`[${begun}/${names.length}] ${name}`)}\n`);
      try {
        workers.push(await action(name, stop.signal));
      } catch (error) {
        if (names.length > 1 && noteFailure(shell, error) === undefined) throw error;
        failed.push({ worker: name, message: error instanceof Error ? error.message : String(error), error });
      }
    }
  } finally {
    undo();
  }
  if (json) shell.out(`${JSON.stringify({ workers, failed: failed.map(({ worker, message }) => ({ worker, message })) })}\n`);
  const left = names.slice(begun);
  const [only] = failed;
  if (only !== undefined && names.length === 1) throw only.error;
  if (failed.length > 0 || left.length > 0) throw new CommandFailure(summary({ names, verb, failed: failed.map(({ worker }) => worker), left }));
}

function summary(outcome: {
  readonly names: readonly string[];
  readonly verb: string;
  readonly failed: readonly string[];
  readonly left: readonly string[];
}): string {
  const { names, verb, failed, left } = outcome;
  const sentences = [
    ...(failed.length === 0 ? [] : [`${failed.length} of ${names.length} could not ${verb}: ${failed.join(", ")}.`]),
    ...(left.length === 0 ? [] : [`Stopped before ${left.join(", ")}.`]),
  ];
  return sentences.join(" ");
}
