import { expect, it } from "vitest";
import { recordedShell } from "../shell.test-support.ts";
import { sayBehind, sayNote, sayReason, sayWarning } from "./notes.ts";

it("wraps notes at words on a narrow terminal and indents further lines", () => {
  const shell = recordedShell({ noteColumns: 40 });

  sayNote(shell, "cannot show the trace of this call: the engine is not connected.");
  sayWarning(
    shell,
    "the file cannot be read: see\nsvc config check, which says everything that is wrong\n  an example that stays as it is, however long",
  );
  sayBehind(shell, "Ready:", "svc-cron, 5 functions, e.g. cron::history, cron::list");

  expect(shell.written.notes).toBe(`note: cannot show the trace of this
      call: the engine is not connected.
warning: the file cannot be read: see
svc config check, which says everything
that is wrong
  an example that stays as it is, however long
Ready: svc-cron, 5 functions, e.g.
       cron::history, cron::list
`);
});

it("does not wrap notes without a terminal", () => {
  const shell = recordedShell();

  sayNote(shell, "the engine is away, and the trace of this call with it, and what else there was to say about it.");

  expect(shell.written.notes).toBe(
    "note: the engine is away, and the trace of this call with it, and what else there was to say about it.\n",
  );
});

it("escapes control characters, and shows only the first line of a reason", () => {
  const shell = recordedShell();

  sayReason(shell, "shop::order", "broken \u001b[2J\nmore");

  expect(shell.written.notes).toBe(`${String.raw`note: shop::order: broken \u001b[2J`}\n`);
});
