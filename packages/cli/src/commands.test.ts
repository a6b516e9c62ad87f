import { describe, expect, it } from "vitest";
import { commandTree, everyCommand } from "./command-tree.ts";
import { EXIT } from "./exit-codes.ts";
import { run } from "./main.ts";
import { buildProgram } from "./program.ts";
import { recordedShell } from "./shell.test-support.ts";

const commands = everyCommand(commandTree(buildProgram(recordedShell())));
const own = commands.filter(({ path }) => path !== "svc").map((command) => [command.path, command] as const);

/** Commands without `--json`, and why. */
const WITHOUT_JSON: Readonly<Record<string, string>> = {
  "svc completion": "prints a script for a shell",
  "svc console": "runs until it is stopped and prints no data",
  "svc cluster nats-config": "prints a file",
  "svc dev": "runs until it is stopped and shows the output of others",
  "svc queue watch": "runs until it is stopped; `svc queue peek --json` prints the data",
  "svc state export": "prints lines of JSON only",
  "svc trigger": "always prints JSON",
};

describe.each(own)("%s", (path, { summary, description, after }) => {
  it("has a one-line summary, a description in sentences, and examples", () => {
    expect(summary).toMatch(/^[a-z].*[^.]$/);
    expect(description).toMatch(/^[A-Z][\s\S]*\.$/);
    const [, examples = ""] = /^Examples:\n((?: {2}.+\n?)+)/.exec(after) ?? [];
    for (const line of examples.trimEnd().split("\n")) expect(line).toMatch(/^ {2}.*\bsvc /);
    expect(examples).toContain(path);
  });

  it("prints help on standard output and exits with 0", async () => {
    const shell = recordedShell();
    expect(await run([...path.split(" ").slice(1), "--help"], shell)).toBe(EXIT.done);
    expect(shell.written.out).toMatch(new RegExp(`^Usage: ${path}[ |]`));
    expect(shell.written.notes).toBe("");
  });
});

it.each(commands.map(({ path }) => path))(
  "%s --help fits into 80 columns, except for commands to be copied",
  async (path) => {
    const shell = recordedShell({ outColumns: 80 });
    await run([...path.split(" ").slice(1), "--help"], shell);
    expect(shell.written.out.split("\n").filter((line) => line.length > 80 && !/^ {2}.*\bsvc /.test(line))).toEqual([]);
  },
);

it("every command with --tail takes --limit too, and describes both alike", () => {
  const withTail = own.filter(([, { options }]) => options.some(({ names }) => names.includes("--tail")));
  expect(withTail.map(([path]) => path).sort()).toEqual(["svc logs", "svc worker logs", "svc worker status"]);
  for (const [, { options }] of withTail) {
    const limit = options.find(({ names }) => names.includes("--limit"));
    expect(limit).toMatchObject({ value: "n", description: "the same as --tail" });
  }
});

describe.each(own.filter(([, { commands: below }]) => below.length === 0))("%s", (path, { options }) => {
  it("has --json, unless it prints no data or only JSON (gap 65)", () => {
    expect(options.some(({ names }) => names.includes("--json"))).toBe(WITHOUT_JSON[path] === undefined);
  });

  it("exits with 2 for an unknown option (gap 65)", async () => {
    expect(await run([...path.split(" ").slice(1), "--no-such-option"], recordedShell())).toBe(EXIT.usage);
  });
});
