import { CallError } from "@svc/protocol";
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

/** Follows an engine that gives these answers, one after the other, until there are no more. */
async function followed(tailAnswers: readonly (Answer | ErrorCode)[], listAnswers: readonly Answer[]) {
  const stopped = new AbortController();
  const tails = tailAnswers.values();
  const lists = listAnswers.values();
  const seen = { ids: [] as string[], dropped: [] as number[], states: [] as string[] };
  const engine = {
    call: async <Result>({ function_id }: { readonly function_id: string }): Promise<Result> => {
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
  it("shows each of several entries that say the same in the same millisecond", async () => {
    const seen = await followed([NOTHING, { logs: [entry(1), entry(2), entry(3)] }, { logs: [entry(4)] }], [NOTHING]);
    expect(seen.ids).toEqual(["1", "2", "3", "4"]);
  });

  it("shows once what is among the last entries and on the first page", async () => {
    const seen = await followed([NOTHING, { logs: [entry(2), entry(3)] }], [{ logs: [entry(2), entry(1)] }]);
    expect(seen.ids).toEqual(["1", "2", "3"]);
  });

  it("goes on after a restart with what is new, and says how many are left out", async () => {
    const seen = await followed(
      [NOTHING, { logs: [entry(1), entry(2)] }, "disconnected", NOTHING, { logs: [entry(8), entry(9)] }],
      [NOTHING, { logs: [entry(8), entry(7), entry(6)], total: 8 }],
    );
    expect(seen).toEqual({ ids: ["1", "2", "6", "7", "8", "9"], dropped: [3], states: ["lost", "back"] });
  });

  it("goes on when an answer may come a little later", async () => {
    const seen = await followed([NOTHING, { logs: [entry(1)] }, "overloaded", "draining", NOTHING], [NOTHING, { logs: [entry(1)] }]);
    expect(seen).toEqual({ ids: ["1"], dropped: [], states: ["lost", "back"] });
  });
});
