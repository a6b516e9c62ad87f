import { describe, expect, it } from "vitest";
import { loadModules } from "../modules/index.ts";
import { parseConfig } from "./load.ts";
import { ConfigError, type LoadedConfig } from "./types.ts";

const modules = await loadModules();

function load(text: string): LoadedConfig {
  return parseConfig("/project/config.yaml", text, { env: {}, modules });
}

function problemsOf(text: string): string {
  try {
    load(text);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return "";
}

describe("an entry's depends_on, limits and watch", () => {
  it("are read, with what stands for nothing said", () => {
    const { localWorkers } = load(`workers:
  - {name: db, path: db}
  - name: api
    path: api
    depends_on: [db, svc-state]
    limits: {memory: 512MiB, cpu: 1.5}
    watch: {include: [src], ignore: ["*.csv"]}
  - {name: svc-state}
`);
    expect(localWorkers[0]).toMatchObject({ dependsOn: [], limits: {}, watch: { include: [], ignore: [] } });
    expect(localWorkers[1]).toMatchObject({
      dependsOn: ["db", "svc-state"],
      limits: { memoryBytes: 536_870_912, cpu: 1.5 },
      watch: { include: ["src"], ignore: ["*.csv"] },
    });
    expect(load("workers: [{name: a, path: a, watch: false}]\n").localWorkers[0]?.watch).toBe(false);
  });

  it.each([
    [
      "{name: a, path: a, depends_on: [apu]}, {name: api, path: b}",
      '/project/config.yaml:1:43: workers[0].depends_on[0]: no worker, command or module of this file is named "apu"; did you mean api?',
    ],
    ["{name: a, path: a, depends_on: [a]}", "workers[0].depends_on[0]: an entry cannot depend on itself"],
    [
      "{name: a, path: a, depends_on: [b]}, {name: b, path: b, depends_on: [c]}, {name: c, path: c, depends_on: [a]}",
      "workers[2].depends_on[0]: dependency cycle: a depends on b depends on c depends on a",
    ],
    ["{name: a, path: a, limits: {memory: 512 Mb}}", "limits.memory: must be a size such as 512MiB"],
    ["{name: a, path: a, limits: {memory: 512}}", "limits.memory: must be at least 1MiB"],
    ["{name: a, path: a, limits: {cpu: 0}}", "limits.cpu: must be more than 0"],
    ["{name: a, path: a, watch: {exclude: [x]}}", 'unknown key "exclude"'],
    ["{name: svc-state, depends_on: [a]}", "is only for local workers"],
  ])("are refused at their lines: %s", (entries, message) => {
    expect(problemsOf(`workers: [${entries}]\n`)).toContain(message);
  });

  it.each([
    "{name: a, path: a, depends_on: [b]}, {name: b, path: b, replicas: none}",
    "{name: a, path: a, depends_on: [b]}, {name: svc-exec, config: {commands: [{name: b, command: ls, restart: ever}]}}",
    "{name: a, path: a, depends_on: [svc-stat]}, {name: svc-stat}",
  ])("may name an entry with problems: %s", (entries) => {
    expect(problemsOf(`workers: [${entries}]\n`)).not.toMatch(/depends_on|\n/);
  });

  it("reports a dependency cycle once", () => {
    expect(
      problemsOf("workers: [{name: a, path: a, depends_on: [b]}, {name: b, path: b, depends_on: [a]}]\n").split("\n"),
    ).toHaveLength(1);
  });
});

describe("a block of svc-exec", () => {
  it("names commands, by a text for the shell or by words", () => {
    const { commands } = load(`workers:
  - name: svc-exec
    config:
      commands:
        - {name: site, command: "npm run dev | cat", cwd: site, env: {PORT: 08}, watch: {include: [src]}}
        - {name: say, command: [echo, "it's $HOME", ""], restart: always, depends_on: [site]}
`);
    expect(commands).toMatchObject([
      {
        name: "site",
        command: "npm run dev | cat",
        path: "/project/site",
        env: { PORT: "08" },
        restart: "on_failure",
        watch: { include: ["src"] },
      },
      {
        name: "say",
        command: "exec echo 'it'\\''s $HOME' ''",
        path: "/project",
        restart: "always",
        watch: false,
        dependsOn: ["site"],
      },
    ]);
    expect(commands[1]?.where).toBe("config.yaml:6");
  });

  it("understands the older form, one for each block", () => {
    const block = "{name: svc-exec, config: {exec: ['npm ci', 'npm run \"dev\"'], watch: ['src/**/*.ts']}}";
    expect(load(`workers: [${block}, ${block}]\n`).commands).toMatchObject([
      {
        name: "exec",
        command: `sh -c 'npm ci' && exec sh -c 'npm run "dev"'`,
        restart: "on_failure",
        watch: { include: ["src/**/*.ts"] },
      },
      { name: "exec-2" },
    ]);
    expect(load("modules: [{class: 'modules::shell::ExecModule', config: {exec: [ls]}}]\n").commands).toHaveLength(1);
  });

  it.each([
    ["{commands: [{name: a}]}", "commands[0].command: is missing"],
    ["{commands: [{name: a, command: []}]}", "commands[0].command"],
    ["{commands: [], watch: [src]}", "needs `exec`"],
    ["{commands: [{name: a, command: ls}, {name: a, command: ls}]}", '"a" is already listed at config.yaml:1'],
    ["{commands: [{name: svc-state, command: ls}]}", "is the name of a module"],
    ["{commands: [{name: a, command: ls, restart: sometimes}]}", "must be one of always, on_failure, never"],
    [
      "{commands: [{name: a, command: ls, depends_on: [a]}]}",
      "workers[0].config.commands[0].depends_on[0]: an entry cannot depend on itself",
    ],
  ])("is refused with what is wrong: %s", (block, message) => {
    expect(problemsOf(`workers: [{name: svc-exec, config: ${block}}]\n`)).toContain(message);
  });
});
