import { expect, it } from "vitest";
import { LastLines } from "./last-lines.ts";

function errorOf(text: string): string {
  const lines = new LastLines();
  for (const line of text.split("\n")) lines.add("stderr", line);
  return lines.newestError;
}

it.each([
  [
    "a throw in Node",
    "file:///w.js:1\nthrow new Error('x')\n      ^\n\nError: no DATABASE_URL\n    at file:///w.js:1:7\n\nNode.js v20.20.2\n",
    "Error: no DATABASE_URL",
  ],
  [
    "a syntax error in TypeScript",
    'Error [TransformError]: Transform failed with 1 error:\n/w/worker.ts:5:127: ERROR: Expected "}" but found ";"\n    at failureErrorWithLog (/w/esbuild.js:1:2)\n\nNode.js v20.20.2',
    '/w/worker.ts:5:127: ERROR: Expected "}" but found ";"',
  ],
  [
    "an exception in Python",
    "Traceback (most recent call last):\n  File \"w.py\", line 1\n    {\nSyntaxError: '{' was never closed\n",
    "SyntaxError: '{' was never closed",
  ],
  ["a panic in Go", "panic: boom\n\ngoroutine 1 [running]:\nmain.main()\nexit status 2", "panic: boom"],
  ["a message of a shell", "starting\nsh: 1: nothere: not found\n", "sh: 1: nothere: not found"],
])("finds the error in what %s prints", (_what, text, error) => {
  expect(errorOf(text)).toBe(error);
});

it("does not blame an error that was printed long before the end", () => {
  expect(errorOf(`Error: retried\n${"working\n".repeat(100)}out of memory`)).toBe("out of memory");
});
