import { expect, it } from "vitest";
import { recordedShell } from "../shell.test-support.ts";
import { DevOutput } from "./dev-output.ts";

const AT = Date.UTC(2026, 0, 31, 10);
const time = (ms: number): string => new Date(AT + ms).toISOString();
const traceId = "ab".repeat(16);
const invocationId = "0197a3c2-5b1e-4b0e-9d8f-2f6d1c0a9b7e";

/** The engine's log line for an entry that the SDK of `shop` sent. */
const sent = (text: string, ms: number, logId: string): string =>
  JSON.stringify({
    time: time(ms),
    level: "info",
    message: "a worker logs",
    ...{ module: "svc-observability", service: "shop", text, data: { "svc.log.id": logId, shelf: 3 } },
    ...{ traceId, spanId: "cd".repeat(8) },
  });
/** The line that the SDK wrote to the worker's output. */
const written = (text: string, ms: number, logId: string) => ({
  worker: "shop",
  time: time(ms),
  stream: "err" as const,
  replica: null,
  text: JSON.stringify({
    ...{ time: time(ms), level: "info", message: text, worker: "shop", shelf: 3, invocation_id: invocationId },
    ...{ trace_id: traceId, span_id: "cd".repeat(8), log_id: logId },
  }),
});

function shown(quietIds: boolean, print: (output: DevOutput) => void): readonly string[] {
  const shell = recordedShell();
  const output = new DevOutput(shell, { names: ["shop", "till"], quietIds });
  print(output);
  output.flush();
  // Without the time of day, which depends on the time zone.
  return shell.written.out
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/\d\d:\d\d:/, ""));
}

it("prints an entry that comes from the output and from the SDK once, whichever is first, with short ids", () => {
  const line = (text: string): string =>
    `shop    | 00.001 info  ${text} shelf=3 invocation_id=0197a3c2 trace=abababababab`;
  expect(
    shown(false, (output) => {
      output.worker(written("one", 1, "1"));
      output.own("engine", sent("one", 101, "1"));
      output.own("engine", sent("two", 102, "2"));
      output.worker(written("two", 1, "2"));
      output.own("engine", sent("not in the output", 103, "3"));
    }),
  ).toEqual([line("one"), line("two"), "shop    | 00.103 info  not in the output shelf=3 trace=abababababab"]);
});

it("prints no ids that svc made if they are not wanted", () => {
  expect(
    shown(true, (output) => {
      output.worker(written("one", 1, "1"));
      output.own("engine", sent("two", 2, "2"));
      output.own("engine", JSON.stringify({ time: time(3), level: "warn", message: "late", workerId: invocationId }));
    }),
  ).toEqual([
    "shop    | 00.001 info  one shelf=3",
    "shop    | 00.002 info  two shelf=3",
    "engine  | 00.003 warn  late",
  ]);
});

it("prints lines of several sources in the order of their times", () => {
  const said = (worker: string, text: string, ms: number) => ({
    ...{ worker, text, time: time(ms), stream: "out" as const, replica: null },
  });
  expect(
    shown(false, (output) => {
      output.worker(said("till", "third", 3));
      output.worker(said("shop", "first", 1));
      output.own("engine", JSON.stringify({ time: time(2), level: "info", message: "second" }));
    }),
  ).toEqual(["shop    | 00.001 first", "engine  | 00.002 info  second", "till    | 00.003 third"]);
});
