import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestSystem, testSystem } from "../data-commands.test-support.ts";
import { EXIT } from "../exit-codes.ts";
import { run } from "../main.ts";
import { recordedShell } from "../shell.test-support.ts";
import { SHELLS, type ShellName } from "./scripts.ts";

// Runs the scripts in real shells with the real program.
const binFolder = fileURLToPath(new URL("../../../../node_modules/.bin", import.meta.url));

let system: TestSystem;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "svc-completion-"));
  system = await testSystem(
    "workers:\n  - name: svc-queue\n  - name: svc-state\n    config: {adapter: {name: in_memory}}\n",
  );
  const { worker } = system;
  for (const id of ["math::add", "math::add_all", "hostile::$(touch broken-out)`touch broken-out`"])
    worker.registerFunction(id, () => null);
  await worker.call({ function_id: "state::set", payload: { scope: "users", key: "ada", value: 1 } });
  for (const shell of SHELLS) {
    const { written } = await completion(shell);
    writeFileSync(join(folder, shell), written.out);
  }
  writeFileSync(join(folder, "order.json"), "{}");
}, 60_000);

afterAll(async () => {
  await system.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function completion(shell: string) {
  const recorded = recordedShell();
  expect(await run(["completion", shell], recorded)).toBe(EXIT.done);
  return recorded;
}

/** Scripts that print what a shell offers for a line. */
const ASK: Readonly<Record<ShellName, string>> = {
  bash: `source ./bash; COMP_LINE=$LINE; COMP_POINT=\${#LINE}; _svc; printf '%s\\n' \${COMPREPLY[@]+"\${COMPREPLY[@]}"}`,
  // Without a terminal zsh has no completion system, so its commands are replaced by ones that print their arguments.
  zsh: `compdef() {}; compset() {}; _files() { print -l -- *; }; _describe() { print -l -- \${(P)@[-1]%%:*}; }; compadd() { print -l -- \${(P)@[-1]}; }
source ./zsh; words=(\${(s: :)LINE}); [[ $LINE == *' ' ]] && words+=(''); CURRENT=$#words; _svc`,
  fish: "source ./fish; complete -C $LINE | string replace -r '\\t.*' ''; true",
};

async function offered(shell: ShellName, line: string): Promise<readonly string[]> {
  const env = {
    ...process.env,
    PATH: `${binFolder}${delimiter}${process.env.PATH ?? ""}`,
    SVC_URL: system.engine.url,
    LINE: line,
    HOME: folder,
  };
  const flags = { bash: ["--norc"], zsh: ["-f"], fish: ["--no-config"] }[shell];
  const { stdout } = await promisify(execFile)(shell, [...flags, "-c", ASK[shell]], {
    cwd: folder,
    env,
    timeout: 30_000,
  });
  return stdout.split("\n").filter((name) => name !== "");
}

describe.each(SHELLS)("%s", (shell) => {
  // One test for everything without the engine, because each start of `svc` takes half a second under load.
  it("offers commands, options, choices and files", async () => {
    expect(await offered(shell, "svc tr")).toEqual(expect.arrayContaining(["trigger", "traces", "triggers"]));
    expect(await offered(shell, "svc queue ")).toEqual(expect.arrayContaining(["list", "peek", "redrive", "purge"]));
    expect(await offered(shell, "svc --config x.yaml state se")).toContain("set");
    expect(await offered(shell, "svc trigger math::add --en")).toContain("--enqueue");
    expect(await offered(shell, "svc logs --level ")).toEqual(expect.arrayContaining(["warn", "error"]));
    expect(await offered(shell, "svc trigger math::add --payload-file ")).toContain("order.json");
    mkdirSync(join(folder, "svc-own"), { recursive: true });
    // In zsh the replacement for folders lists files.
    expect((await offered(shell, "svc worker add svc-")).map((name) => name.replace(/\/$/, ""))).toEqual(
      expect.arrayContaining(["svc-state", "svc-queue", "svc-own"]),
    );
    expect(await offered(shell, "svc ")).not.toContain("__complete");
    expect(await offered(shell, "svc trigger --timeout-ms ")).toEqual([]);
  });

  it("offers names from the engine without executing them", async () => {
    // Under load names may arrive too late, and nothing is offered.
    const names = (line: string, name: string): Promise<void> =>
      expect.poll(async () => (await offered(shell, line)).join("\n")).toContain(name);
    // Readline replaces only the text after the last colon.
    const add = shell === "bash" ? "add_all" : "math::add_all";
    await names("svc trigger math::add", add);
    await names("svc trigger math::add --enqueue de", "default");
    await names("svc state get users ", "ada");
    await names("svc trigger hostile", "touch");
    expect(existsSync(join(folder, "broken-out"))).toBe(false);
  });
});

it("prints nothing if no engine is reachable", async () => {
  const shell = recordedShell();
  expect(await run(["__complete", "function", "--url", "ws://127.0.0.1:1"], shell)).toBe(EXIT.done);
  expect(shell.written).toEqual({ out: "", notes: "" });
});

it("does not list its helper command", async () => {
  const shell = recordedShell();
  expect(await run(["complet"], shell)).toBe(EXIT.usage);
  expect(shell.written.notes).toContain("did you mean completion?");
  expect(shell.written.notes).not.toContain("__complete");
});
