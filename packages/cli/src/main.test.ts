import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EXIT } from "./exit-codes.ts";
import { run } from "./main.ts";
import { buildProgram } from "./program.ts";
import { recordedShell } from "./shell.test-support.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-main-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("help", () => {
  const all = [[], ...pathsOf(buildProgram(recordedShell()))];

  it.each(all.map((path) => [path.join(" "), path] as const))(
    "of `svc %s` goes to standard output, exits with 0 and has examples",
    async (_name, path) => {
      const shell = recordedShell();

      expect(await run([...path, "--help"], shell)).toBe(EXIT.done);
      expect(shell.written.out).toContain("Usage: svc");
      expect(shell.written.out).toContain("Examples:");
      expect(shell.written.notes).toBe("");
    },
  );
});

it("wraps usage errors at words on a narrow terminal", async () => {
  const shell = recordedShell({ noteColumns: 80 });
  expect(await run(["logs", "--since", "yesterday"], shell)).toBe(EXIT.usage);
  expect(shell.written.notes.split("\n").filter((line) => line.length > 80)).toEqual([]);
  expect(shell.written.notes).toMatch(
    /^error: option '--since <time>' argument 'yesterday' is invalid\.[\s\S]*\nSee: svc logs --help\n$/,
  );
});

it("leaves space for the summaries of commands on a narrow terminal", async () => {
  const shell = recordedShell({ outColumns: 80 });
  await run(["--help"], shell);
  expect(shell.written.out).toMatch(/^ {2}trigger {2,}call a function/m);
});

/** Returns the paths of all commands below a command, except hidden ones. */
function pathsOf(command: Command, above: readonly string[] = []): readonly (readonly string[])[] {
  const visible = command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== "help");
  return visible.flatMap((child) => [[...above, child.name()], ...pathsOf(child, [...above, child.name()])]);
}

it("prints the version on standard output", async () => {
  const shell = recordedShell();

  expect(await run(["--version"], shell)).toBe(EXIT.done);
  expect(shell.written.out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

describe("usage error", () => {
  it.each([
    ["an unknown command", ["strat"], 'Unknown command "strat"'],
    ["a typo in a command", ["workr"], "did you mean worker?"],
    ["help on an unknown command", ["bogus", "--help"], 'Unknown command "bogus"'],
    ["help on an unknown subcommand", ["worker", "lst", "--help"], "did you mean list?"],
    ["an unknown subcommand behind help", ["worker", "help", "bogus"], 'Unknown command "bogus"'],
    ["a typo in a template", ["create", "-t", "quickstrat", "-d", "x"], "did you mean quickstart?"],
    ["a typo in a built-in worker", ["worker", "add", "svc-sate"], "did you mean svc-state?"],
    ["an unknown option", ["--confg", "x"], "--config"],
    ["--tail for a list", ["traces", "--tail", "5"], "(Did you mean --limit?)"],
    ["-n for a list", ["queue", "peek", "default", "-n", "5"], "(Did you mean --limit?)"],
    ["an invalid --limit of a log", ["logs", "--limit", "5001"], "0 to 5000"],
    ["an invalid port", ["--http-port", "70000"], "0 to 65535"],
    ["an invalid log format", ["--log", "xml"], "text, json"],
    ["an unknown subcommand", ["worker", "lst"], 'Unknown command "lst"; did you mean list?'],
    ["an unknown subcommand with options", ["worker", "zzz", "--json"], "Commands: add, remove"],
    ["a short name of a language", ["generate", "types", "--lang", "ts"], "Did you mean typescript?"],
    ["an unknown language", ["generate", "types", "--lang", "cobol"], "Allowed choices are typescript, python."],
    ["no subcommand", ["worker"], "Usage: svc worker"],
    ["a template without a folder", ["create", "--template", "quickstart"], "--directory"],
    ["an unknown built-in worker", ["worker", "add", "svc-sate"], "svc-state: "],
  ])("exits with 2 for %s", async (_case, args, hint) => {
    const shell = recordedShell({ cwd: dir });

    expect({ status: await run(args, shell), out: shell.written.out }).toEqual({ status: EXIT.usage, out: "" });
    expect(shell.written.notes).toContain(hint);
  });
});

it("explains how to create a config file if there is none", async () => {
  const shell = recordedShell({ cwd: dir });

  expect(await run([], shell)).toBe(EXIT.failed);
  expect(shell.written.notes).toContain(join(dir, "config.yaml"));
  expect(shell.written.notes).toContain("svc create --template quickstart");
});

it.each([
  ["worker", "list"],
  ["worker", "restart", "math-worker"],
])("ends `svc %s %s` with 3 if no engine is reachable", async (...args) => {
  const shell = recordedShell({ cwd: dir, env: { SVC_URL: "ws://127.0.0.1:1" } });

  expect(await run(args, shell)).toBe(EXIT.noEngine);
  expect(shell.written.notes).toContain("ws://127.0.0.1:1 (from the environment variable SVC_URL)");
});
