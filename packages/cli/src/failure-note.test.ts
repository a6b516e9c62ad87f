import { CallError } from "@svc-runtime/protocol";
import { expect, it } from "vitest";
import { CommandFailure, EXIT } from "./exit-codes.ts";
import { noteFailure } from "./failure-note.ts";
import { recordedShell } from "./shell.test-support.ts";

it("escapes control characters in the text of a failure", () => {
  const shell = recordedShell();
  expect(noteFailure(shell, new CommandFailure("the run failed: \u001b[2J\nmore", { advice: ["  \u009b31m"] }))).toBe(
    EXIT.failed,
  );
  expect(noteFailure(shell, new CallError("invocation_failed", "out of \u001b[31mink"))).toBe(EXIT.failed);
  expect(shell.written.notes).toBe(
    String.raw`error: the run failed: \u001b[2J
more
  \u009b31m
error: out of \u001b[31mink (invocation_failed)
`,
  );
});
