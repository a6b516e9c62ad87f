import pc from "picocolors";
import { expect, it } from "vitest";
import { CommandFailure, EXIT } from "../exit-codes.ts";
import { noteFailure } from "../failure-note.ts";
import { recordedShell } from "../shell.test-support.ts";
import { hangingIndent } from "./word-wrap.ts";

const head = pc.createColors(true).dim("kind    ");

it("wraps at words and indents further lines", () => {
  expect(hangingIndent(head, "one two three four five six", 28)).toEqual([
    `${head}one two three four`,
    "        five six",
  ]);
});

it("does not wrap without a terminal, without space, or within a word", () => {
  expect(hangingIndent("head  ", "one two three four five six", undefined)).toEqual([
    "head  one two three four five six",
  ]);
  expect(hangingIndent("head  ", "one two three four five six", 22)).toEqual(["head  one two three four five six"]);
  expect(hangingIndent("", "/a/path/that/is/longer/than/the/line", 20)).toEqual([
    "/a/path/that/is/longer/than/the/line",
  ]);
});

it("keeps a command on one line, and indentation", () => {
  expect(hangingIndent("", "Add it to the engine with: svc worker add svc-state", 40)).toEqual([
    "Add it to the engine with:",
    "svc worker add svc-state",
  ]);
  expect(hangingIndent("", "    at frame", 40)).toEqual(["    at frame"]);
  expect(hangingIndent("", "create the file with the line `workers: []` in it", 38)).toEqual([
    "create the file with the line",
    "`workers: []` in it",
  ]);
});

it("wraps failures on a narrow terminal, but not examples", () => {
  const shell = recordedShell({ noteColumns: 30 });
  const example = "  svc trigger math::add --payload='{\"a\": 2}'";

  expect(
    noteFailure(
      shell,
      new CommandFailure("the folder is not there, or is empty", {
        advice: [example, "or make the folder by yourself first"],
      }),
    ),
  ).toBe(EXIT.failed);
  expect(shell.written.notes).toBe(
    `error: the folder is not\n       there, or is empty\n${example}\nor make the folder by yourself\nfirst\n`,
  );
});
