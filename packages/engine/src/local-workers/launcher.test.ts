import { describe, expect, it } from "vitest";
import { LAUNCHER_SCRIPT, withoutIdleShell } from "./launcher.ts";

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

describe("the launcher", () => {
  it("sends SIGTERM when the engine is gone and SIGKILL 3 s later, so that nothing lives 5 s longer", () => {
    const watcher = LAUNCHER_SCRIPT.slice(LAUNCHER_SCRIPT.indexOf("\n(\n"), LAUNCHER_SCRIPT.indexOf("\n) "));
    const steps = watcher
      .split("\n")
      .flatMap((line) => /^ {2}(?:read|sleep|kill|escaped|while escaped) .*/.exec(line)?.[0].trim() ?? []);
    expect(steps).toEqual([
      "read -r _ <&3",
      'kill -s TERM -- "-$$"',
      "escaped \"$2\" '' TERM",
      "sleep 3",
      expect.stringMatching(/^while escaped "\$2" '\[0-9a-f:\]\*' KILL .* do passes=\$\(\(passes \+ 1\)\); done$/),
      'kill -s KILL -- "-$$"',
    ]);
  });
});
