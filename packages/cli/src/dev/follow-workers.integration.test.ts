import { CallError } from "@svc-runtime/protocol";
import { expect, it } from "vitest";
import type { EngineCalls } from "../workers/worker-functions.ts";
import { followWorkers } from "./follow-workers.ts";

interface Asked {
  readonly name: string;
  readonly cursor?: string;
}

/** Follows a fake engine with the given answers; `ended` resolves when following has stopped. */
function following(answers: {
  readonly list: () => readonly string[];
  readonly logs: (asked: Asked, stop: () => void) => unknown;
}) {
  const stop = new AbortController();
  const texts: string[] = [];
  const problems: string[] = [];
  const answer = async (request: {
    readonly function_id?: string | undefined;
    readonly payload?: unknown;
  }): Promise<unknown> => {
    if (request.function_id === "worker::list")
      return { workers: answers.list().map((name) => ({ name, kind: "local" })) };
    return answers.logs(request.payload as Asked, () => stop.abort());
  };
  const engine: EngineCalls = { call: (request: Parameters<typeof answer>[0]) => answer(request) as Promise<never> };
  const ended = followWorkers(engine, {
    sinceMs: 0,
    signal: stop.signal,
    onLine: ({ text }) => texts.push(text),
    onProblem: (message) => problems.push(message),
  });
  return { ended, texts, problems };
}

const page = (cursor: string, ...texts: readonly string[]): unknown => ({
  cursor,
  log_file: "",
  lines: texts.map((text) => ({ text })),
});

it("shows no line twice when a worker is removed and added again", async () => {
  let times = 0;
  const { ended, texts } = following({
    list: () => ["hello"],
    logs: ({ cursor }, stop) => {
      if (cursor === undefined) return page("1", "one");
      if (cursor === "1") return page("2", "two");
      times += 1;
      if (times === 1) throw new CallError("worker_not_found", "hello was removed");
      stop();
      return page("3", "three");
    },
  });

  await ended;

  expect(texts).toEqual(["one", "two", "three"]);
});

it("reports once why lines are missing, ignores a disconnected engine, and continues at its cursor", async () => {
  const errors = [
    new CallError("forbidden", "not for you"),
    new CallError("forbidden", "not for you"),
    new CallError("overloaded", "too much"),
  ];
  const { ended, texts, problems } = following({
    list: () => ["hello"],
    logs: ({ cursor }, stop) => {
      if (cursor === undefined) return page("1", "one");
      const error = errors.shift();
      if (error !== undefined) throw error;
      stop();
      return page("2", "two");
    },
  });

  await ended;

  expect(texts).toEqual(["one", "two"]);
  expect(problems).toEqual(["Cannot show the output of hello: not for you"]);
});

it.each(["worker::list", "worker::logs"])("ends at once while %s waits for an engine that is gone", async (held) => {
  const stop = new AbortController();
  let reached = (): void => {};
  const called = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const engine: EngineCalls = {
    call: (request: { readonly function_id?: string | undefined; readonly signal?: AbortSignal | undefined }) => {
      if (request.function_id !== held)
        return Promise.resolve({ workers: [{ name: "hello", kind: "local" }] }) as Promise<never>;
      reached();
      return new Promise<never>((_, reject) => {
        request.signal?.addEventListener("abort", () => reject(new CallError("invocation_stopped", "stopped")));
      });
    },
  };
  const problems: string[] = [];
  const options = { sinceMs: 0, signal: stop.signal, onLine: () => {} };
  const ended = followWorkers(engine, { ...options, onProblem: (message) => problems.push(message) });
  await called;
  stop.abort();
  await ended;
  expect(problems).toEqual([]);
});
