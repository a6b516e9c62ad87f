import { z } from "zod";
import type { ModuleContext } from "../../../../kernel/module.ts";
import type { LogAnswers } from "../log-answers.ts";
import { aroundInput, exportInput, facetsInput, getInput, histogramInput, importInput, listInput, tailInput } from "./inputs.ts";

/** Where the answers come from; undefined while entries are not kept here, with the reason. */
export interface LogAnswering {
  /** Loads them when first asked. */
  answers(): Promise<LogAnswers | undefined>;
  /** Why there are none, for people. */
  readonly disabledReason: string;
}

/** `engine::logs::*`. Where entries are not kept here, lists are empty and say so. */
export function provideEngineLogs({ provideFunction, clock }: Pick<ModuleContext<unknown>, "provideFunction" | "clock">, from: LogAnswering): void {
  const disabled = <T extends object>(empty: T): T & { readonly disabled: true; readonly message: string } => ({
    ...empty,
    disabled: true,
    message: from.disabledReason,
  });
  provideFunction({
    id: "engine::logs::list",
    summary: "Lists log entries, the newest first",
    input: listInput,
    handle: async (input) =>
      (await from.answers())?.list(input) ?? disabled({ logs: [], total: 0, cursor: null, query: input, timestamp: clock.now(), as_of: clock.now() }),
  });
  provideFunction({
    id: "engine::logs::get",
    summary: "One log entry",
    input: getInput,
    handle: async ({ id }) => (await from.answers())?.get(id) ?? disabled({}),
  });
  provideFunction({
    id: "engine::logs::around",
    summary: "A log entry with those just before and after it",
    input: aroundInput,
    handle: async (input) => (await from.answers())?.around(input) ?? disabled({ logs: [], id: input.id, more_before: false, more_after: false }),
  });
  provideFunction({
    id: "engine::logs::facets",
    summary: "Counts log entries by level, service, function, worker or attribute",
    input: facetsInput,
    handle: async (input) => (await from.answers())?.facets(input) ?? disabled({ facets: {}, total: 0 }),
  });
  provideFunction({
    id: "engine::logs::histogram",
    summary: "Counts log entries by time and level",
    input: histogramInput,
    handle: async (input) => (await from.answers())?.histogram(input) ?? disabled({ buckets: [], total: 0 }),
  });
  provideFunction({
    id: "engine::logs::tail",
    summary: "Log entries since the last time it was asked; waits for one when there is none",
    input: tailInput,
    handle: async (input, { signal }) => (await from.answers())?.tail(input, signal) ?? disabled({ logs: [], cursor: input.after ?? null, dropped: 0 }),
  });
  provideFunction({
    id: "engine::logs::export",
    summary: "Writes log entries into a channel, as lines",
    input: exportInput,
    handle: async (input, { caller }) => (await from.answers())?.export(input, { ownedBy: caller }) ?? disabled({ lines: null }),
  });
  provideFunction({
    id: "engine::logs::import",
    summary: "Takes log entries from a channel of lines",
    input: importInput,
    handle: async (input) => (await from.answers())?.import(input) ?? disabled({ imported: 0, refused: 0 }),
  });
  provideFunction({
    id: "engine::logs::clear",
    summary: "Deletes all log entries that are kept",
    input: () => z.looseObject({}),
    handle: async () => (await from.answers())?.clear() ?? disabled({ success: true }),
  });
}
