import { Command } from "commander";
import { expect, it } from "vitest";
import { retyped, typedWords } from "./typed-command.ts";

async function typed(...args: readonly string[]): Promise<readonly string[]> {
  let words: readonly string[] = [];
  const dev = new Command("dev")
    .option("-c, --config <file>", "file")
    .option("--http-port <n>", "port", Number)
    .option("--no-console", "without")
    .option("--open", "open")
    .action(() => {
      words = typedWords(dev);
    });
  const program = new Command("svc").enablePositionalOptions().option("-c, --config <file>", "file").addCommand(dev);
  await program.parseAsync(args, { from: "user" });
  return words;
}

it("repeats a command with only the given options", async () => {
  expect(await typed("dev")).toEqual(["svc", "dev"]);
  expect(await typed("-c", "a.yaml", "dev", "--http-port=3200", "--no-console")).toEqual([
    "svc",
    "dev",
    "--config",
    "a.yaml",
    "--http-port",
    "3200",
    "--no-console",
  ]);
});

it("changes one option", () => {
  expect(retyped(["svc", "dev", "--http-port", "1", "--open"], "--http-port", 3121)).toBe(
    "svc dev --open --http-port 3121",
  );
  expect(retyped(["svc", "--config", "a b"], "--ws-port", 3122)).toBe("svc --config 'a b' --ws-port 3122");
});
