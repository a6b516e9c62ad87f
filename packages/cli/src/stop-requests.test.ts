import { expect, it } from "vitest";
import { recordedShell } from "./shell.test-support.ts";
import { abortAtStop, listenForStop, SAME_PRESS_MS } from "./stop-requests.ts";

it("counts a signal that npm repeats at once as one key press", async () => {
  const shell = recordedShell();
  let nowMs = 0;
  const stop = listenForStop(shell, { stdin: "ignored", nowMs: () => nowMs });
  const heard: string[] = [];
  void stop.second.then((signal) => heard.push(signal));

  shell.stop("SIGINT");
  nowMs = SAME_PRESS_MS;
  shell.stop("SIGINT");

  expect(await stop.first).toBe("SIGINT");
  expect(heard).toEqual([]);
});

it("treats a later signal as a request to stop at once", async () => {
  const shell = recordedShell();
  let nowMs = 0;
  const stop = listenForStop(shell, { stdin: "ignored", nowMs: () => nowMs });

  shell.stop("SIGINT");
  nowMs = SAME_PRESS_MS + 1;
  shell.stop("SIGTERM");

  expect(await stop.second).toBe("SIGTERM");
});

it("removes its listeners", () => {
  const shell = recordedShell();
  listenForStop(shell, { stdin: "ignored", nowMs: () => 0 }).forget();

  expect(shell.listeners()).toBe(0);
});

it("starts a new line after ^C, once per key press", () => {
  const shell = recordedShell({ noteColumns: 80 });
  let nowMs = 0;
  listenForStop(shell, { stdin: "ignored", nowMs: () => nowMs });

  shell.stop("SIGINT");
  shell.stop("SIGINT");
  expect(shell.written.notes).toBe("\n");
  nowMs = SAME_PRESS_MS + 1;
  shell.stop("SIGINT");
  expect(shell.written.notes).toBe("\n\n");
});

it("writes nothing for a signal without a key press, or without a terminal", () => {
  const terminal = recordedShell({ noteColumns: 80 });
  listenForStop(terminal, { stdin: "ignored", nowMs: () => 0 });
  terminal.stop("SIGTERM");
  expect(terminal.written.notes).toBe("");

  const pipe = recordedShell();
  abortAtStop(pipe);
  pipe.stop("SIGINT");
  expect(pipe.written.notes).toBe("");
});

it("aborts at a request to stop on a new line, and at the end", () => {
  const shell = recordedShell({ noteColumns: 80 });
  const asked = abortAtStop(shell);
  shell.stop("SIGINT");
  shell.stop("SIGINT");
  expect(asked.signal.aborted).toBe(true);
  expect(shell.written.notes).toBe("\n");

  const over = abortAtStop(shell);
  over.end();
  expect(over.signal.aborted).toBe(true);
  asked.end();
  expect(shell.listeners()).toBe(0);
});
