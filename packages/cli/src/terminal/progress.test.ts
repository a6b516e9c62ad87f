import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { cancellable } from "../engine/call-progress.ts";
import { recordedShell } from "../shell.test-support.ts";
import { showProgress } from "./progress.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("leaves space for the terminal's ^C, which could not be cleared beyond the edge", () => {
  const shell = recordedShell({ noteColumns: 40 });

  const progress = showProgress(shell, "Installing dependencies");
  progress.say("npm warn deprecated something@1.0.0: it is not supported any more");
  vi.advanceTimersByTime(100);
  progress.end();

  const lines = shell.written.notes.split("\r\u001b[K").filter((line) => line !== "");
  expect(lines.map(({ length }) => length)).toEqual([expect.any(Number), 40 - 1 - "^C".length]);
});

it("starts a new line after a call that is cancelled at once", async () => {
  const shell = recordedShell({ noteColumns: 80 });

  const cancelled = cancellable(
    shell,
    "Calling math::add",
    (signal) => new Promise<void>((settle) => signal.addEventListener("abort", () => settle())),
  );
  shell.stop("SIGINT");
  await cancelled;

  expect(shell.written.notes).toBe("\n");
  expect(shell.listeners()).toBe(0);
});
