import { describe, expect, it } from "vitest";
import { withoutIdleShell } from "./launcher.ts";

describe("a start command", () => {
  it.each([
    ["python math_worker.py", "exec python math_worker.py"],
    [" node --import tsx src/worker.ts ", "exec node --import tsx src/worker.ts"],
    ["./bin/run", "exec ./bin/run"],
  ])("that is a list of words becomes the process itself: %s", (command, expected) => {
    expect(withoutIdleShell(command)).toBe(expected);
  });

  it.each([
    "cd app && node .",
    "PORT=1 node .",
    "exec node .",
    "trap x TERM",
    "node . | tee log",
    'node "a b.js"',
    "node $FILE",
    "while true",
    ". ./env",
    "a\nb",
  ])("with shell syntax is left to the shell: %s", (command) => {
    expect(withoutIdleShell(command)).toBe(command);
  });
});
