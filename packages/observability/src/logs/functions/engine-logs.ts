import type { ModuleContext } from "@svc-runtime/engine/module";
import { Payload } from "@svc-runtime/protocol";
import { z } from "zod";
import { LOG_QUESTIONS } from "../../query/topics.ts";
import type { LogApi } from "../log-api.ts";
import {
  aroundInput,
  exportInput,
  facetsInput,
  getInput,
  histogramInput,
  importInput,
  listInput,
  tailInput,
} from "./inputs.ts";

export interface LogApiSource {
  /** Loads the implementation on the first call. Resolves to undefined if entries are not stored here. */
  api(): Promise<LogApi | undefined>;
  /** Message for users that says why entries are not stored. */
  readonly disabledReason: string;
}

/** Provides `engine::logs::*`. If entries are not stored here, lists are empty and contain the reason. */
export function provideEngineLogs(
  { provideFunction, clock, nodes }: Pick<ModuleContext<unknown>, "provideFunction" | "clock" | "nodes">,
  from: LogApiSource,
): void {
  const disabled = <T extends object>(empty: T): T & { readonly disabled: true; readonly message: string } => ({
    ...empty,
    disabled: true,
    message: from.disabledReason,
  });
  nodes?.answer(LOG_QUESTIONS, async (question) => {
    const api = await from.api();
    // A node without stored entries returns null, so that the list of all nodes leaves it out.
    return api === undefined ? Payload.null : Payload.fromText(await api.answer(question.value()));
  });
  provideFunction({
    id: "engine::logs::list",
    summary: "Lists log entries, newest first",
    input: listInput,
    handle: async (input) =>
      (await from.api())?.list(input) ??
      disabled({ logs: [], total: 0, cursor: null, query: input, timestamp: clock.now(), as_of: clock.now() }),
  });
  provideFunction({
    id: "engine::logs::get",
    summary: "One log entry",
    input: getInput,
    handle: async ({ id }) => (await from.api())?.get(id) ?? disabled({}),
  });
  provideFunction({
    id: "engine::logs::around",
    summary: "A log entry with its neighbours in time",
    input: aroundInput,
    handle: async (input) =>
      (await from.api())?.around(input) ?? disabled({ logs: [], id: input.id, more_before: false, more_after: false }),
  });
  provideFunction({
    id: "engine::logs::facets",
    summary: "Counts log entries by level, service, function, worker or attribute",
    input: facetsInput,
    handle: async (input) => (await from.api())?.facets(input) ?? disabled({ facets: {}, total: 0 }),
  });
  provideFunction({
    id: "engine::logs::histogram",
    summary: "Counts log entries by time and level",
    input: histogramInput,
    handle: async (input) => (await from.api())?.histogram(input) ?? disabled({ buckets: [], total: 0 }),
  });
  provideFunction({
    id: "engine::logs::tail",
    polled: true,
    summary: "Log entries since the cursor; waits for one if there is none",
    input: tailInput,
    handle: async (input, { signal }) =>
      (await from.api())?.tail(input, signal) ?? disabled({ logs: [], cursor: input.after ?? null, dropped: 0 }),
  });
  provideFunction({
    id: "engine::logs::export",
    summary: "Writes log entries to a channel, one per line",
    input: exportInput,
    handle: async (input, { caller }) =>
      (await from.api())?.export(input, { ownedBy: caller }) ?? disabled({ lines: null }),
  });
  provideFunction({
    id: "engine::logs::import",
    summary: "Imports log entries from a channel, one per line",
    input: importInput,
    handle: async (input) => (await from.api())?.import(input) ?? disabled({ imported: 0, refused: 0 }),
  });
  provideFunction({
    id: "engine::logs::clear",
    summary: "Deletes all stored log entries",
    input: () => z.looseObject({}),
    handle: async () => (await from.api())?.clear() ?? disabled({ success: true }),
  });
}
