import { expect, it } from "vitest";
import { run } from "../main.ts";
import { testProject } from "../running-engine.test-support.ts";
import { recordedShell } from "../shell.test-support.ts";

it("the summary shows which listeners other machines can reach", async () => {
  const project = testProject(
    "workers: []\nengine: {bridge: {host: 0.0.0.0, port: 0}, token: a-token-of-the-engine}\n",
  );
  const shell = recordedShell({ cwd: project.dir });
  const ended = run(["--log", "text", "--http-port", "0", "--ws-port", "0"], shell);
  try {
    await Promise.race([shell.noted("Ctrl-C to stop"), ended]);
    expect(shell.written.notes).toMatch(/workers +ws:\/\/0\.0\.0\.0:\d+ \(every interface\) {2}address for workers/);
    expect(shell.written.notes).toMatch(/HTTP API +http:\/\/localhost:\d+\n/);
  } finally {
    shell.stop("SIGINT");
    await ended;
    project.remove();
  }
});

it("the summary of many modules fits a narrow terminal", async () => {
  const project = testProject(
    "workers: [{name: svc-state}, {name: svc-http}, {name: svc-event}, {name: svc-cron}]\nengine: {bridge: {port: 0}}\n",
  );
  const shell = recordedShell({ cwd: project.dir, noteColumns: 60 });
  const ended = run(["--http-port", "0", "--ws-port", "0"], shell);
  try {
    await Promise.race([shell.noted("Ctrl-C to stop"), ended]);
    expect(shell.written.notes).toMatch(
      /^ {2}modules {7}svc-observability, svc-state, svc-http,\n {16}svc-event, svc-cron$/m,
    );
  } finally {
    shell.stop("SIGINT");
    await ended;
    project.remove();
  }
});
