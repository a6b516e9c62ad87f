import { CallError } from "@svc-runtime/protocol";
import { describe, expect, it } from "vitest";
import { followLogs } from "./follow-logs.ts";
import type { StoredLog } from "./stored-log-lines.ts";

interface Answer {
  readonly logs: readonly StoredLog[];
  readonly cursor?: string;
  readonly total?: number;
  readonly dropped?: number;
}

const AT_MS = Date.now() + 1_000;

function entry(id: number, timestampMs = AT_MS): StoredLog {
  return {
    id: String(id),
    timestamp_ms: timestampMs,
    severity_number: 9,
    severity_text: "INFO",
    body: "order stored",
    service_name: "shop",
    attributes: { order: id },
    trace_id: null,
  };
}

type ErrorCode = CallError["code"];

/** Follows a fake engine until its answers are used up. */
async function followed(tailAnswers: readonly (Answer | ErrorCode)[], listAnswers: readonly Answer[]) {
  const stopped = new AbortController();
  const tails = tailAnswers.values();
  const lists = listAnswers.values();
  const seen = { ids: [] as string[], dropped: [] as number[], states: [] as string[] };
  const engine = {
    call: async <Result>({ function_id }: { readonly function_id?: string | undefined }): Promise<Result> => {
      const answer = (function_id === "engine::logs::list" ? lists : tails).next().value;
      if (typeof answer === "string") throw new CallError(answer, "not now");
      if (answer === undefined) stopped.abort();
      return { cursor: "c", dropped: 0, total: answer?.logs.length ?? 0, ...(answer ?? { logs: [] }) } as Result;
    },
  };
  await followLogs(engine, {
    query: {},
    tail: 100,
    signal: stopped.signal,
    show: (entries) => seen.ids.push(...entries.map(({ id }) => id)),
    dropped: (count) => seen.dropped.push(count),
    connection: (state) => seen.states.push(state),
  });
  return seen;
}

const NOTHING: Answer = { logs: [] };

describe("following the log", () => {
  it("shows each of several equal entries of the same millisecond", async () => {
    const seen = await followed([NOTHING, { logs: [entry(1), entry(2), entry(3)] }, { logs: [entry(4)] }], [NOTHING]);
    expect(seen.ids).toEqual(["1", "2", "3", "4"]);
  });

  it("shows entries once that are in both the last entries and the first page", async () => {
    const seen = await followed([NOTHING, { logs: [entry(2), entry(3)] }], [{ logs: [entry(2), entry(1)] }]);
    expect(seen.ids).toEqual(["1", "2", "3"]);
  });

  it("continues after a restart with new entries and reports skipped ones", async () => {
    const seen = await followed(
      [NOTHING, { logs: [entry(1), entry(2)] }, "disconnected", NOTHING, { logs: [entry(8), entry(9)] }],
      [NOTHING, { logs: [entry(8), entry(7), entry(6)], total: 8 }],
    );
    expect(seen).toEqual({ ids: ["1", "2", "6", "7", "8", "9"], dropped: [3], states: ["lost", "back"] });
  });

  it("continues after a transient error", async () => {
    const seen = await followed(
      [NOTHING, { logs: [entry(1)] }, "overloaded", "draining", NOTHING],
      [NOTHING, { logs: [entry(1)] }],
    );
    expect(seen).toEqual({ ids: ["1"], dropped: [], states: ["lost", "back"] });
  });
});
