import { CommandFailure } from "./exit-codes.ts";
import { noteFailure } from "./failure-note.ts";
import type { Shell } from "./shell.ts";

export interface SeveralOptions<Result> {
  readonly names: readonly string[];
  /** Verb phrase for failures, e.g. "be added". */
  readonly verb: string;
  readonly json: boolean;
  /**
   * The action for one name. The signal aborts when the user stops the command. The running action may then finish or
   * give up, and no further action starts.
   */
  readonly action: (name: string, signal: AbortSignal) => Promise<Result>;
}

/**
 * Runs the action for each name, one after another. A failure is printed and does not prevent the other actions. At the
 * end the command exits with 1, or with the status of the failure if there was only one name. With `json`, the results
 * are printed on standard output.
 */
export async function runForEach<Result>(
  shell: Shell,
  { names, verb, json, action }: SeveralOptions<Result>,
): Promise<void> {
  const stop = new AbortController();
  const undo = shell.onStopSignal(() => stop.abort());
  const workers: Result[] = [];
  const failed: { readonly worker: string; readonly message: string; readonly error: unknown }[] = [];
  let started = 0;
  try {
    for (const name of names) {
      if (stop.signal.aborted) break;
      started += 1;
      if (names.length > 1) shell.note(`${shell.paint.bold(`[${started}/${names.length}] ${name}`)}\n`);
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
  if (json)
    shell.out(`${JSON.stringify({ workers, failed: failed.map(({ worker, message }) => ({ worker, message })) })}\n`);
  const left = names.slice(started);
  const [only] = failed;
  if (only !== undefined && names.length === 1) throw only.error;
  if (failed.length > 0 || left.length > 0)
    throw new CommandFailure(summary({ names, verb, failed: failed.map(({ worker }) => worker), left }));
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
