import { afterAll, beforeAll, expect, it } from "vitest";
import { EXIT } from "../exit-codes.ts";
import { run } from "../main.ts";
import { startTestEngine, type TestEngine, type TestProject, testProject } from "../running-engine.test-support.ts";
import { recordedShell } from "../shell.test-support.ts";

let project: TestProject;
let engine: TestEngine;

beforeAll(async () => {
  project = testProject("workers:\n  - name: svc-state\n    config: {adapter: {name: in_memory}}\n");
  engine = await startTestEngine(project);
}, 60_000);

afterAll(async () => {
  await engine.stop();
  project.remove();
});

async function trigger(functionId: string, payload: string, columns?: number): Promise<string> {
  const shell = recordedShell(columns === undefined ? {} : { outColumns: columns });
  const status = await run(
    ["trigger", `--function-id=${functionId}`, `--payload=${payload}`, "--url", engine.url],
    shell,
  );
  expect([status, shell.written.notes]).toEqual([EXIT.done, ""]);
  return shell.written.out;
}

it.each([
  "9007199254740993",
  "1e400",
  "-0",
  "1.10",
  "0.1234567890123456789012345",
  '{"__proto__":12345678901234567890}',
])("stores and prints %s as it was typed", async (value) => {
  await trigger("state::set", `{"scope": "digits", "key": "k", "value": ${value}}`);
  expect(await trigger("state::get", '{"scope":"digits","key":"k"}')).toBe(`${value}\n`);
});

it("keeps exact numbers when it indents for a narrow terminal", async () => {
  await trigger("state::set", '{"scope":"digits","key":"wide","value":{"list":[9007199254740993,1e400],"none":{}}}');
  expect(await trigger("state::get", '{"scope":"digits","key":"wide"}', 20)).toBe(
    '{\n  "list": [\n    9007199254740993,\n    1e400\n  ],\n  "none": {}\n}\n',
  );
});

it("keeps exact numbers of key=value words", async () => {
  const shell = recordedShell();
  expect(
    await run(
      ["trigger", "state::set", "scope=digits", "key=field", "value=9007199254740993", "--url", engine.url],
      shell,
    ),
  ).toBe(EXIT.done);
  expect(shell.written.out).toContain('"new_value":9007199254740993,');
});
