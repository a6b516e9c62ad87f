import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { parseJson } from "../../../lib/json.ts";
import { echoServer } from "../../../lib/testing/echo-server.ts";
import { type Draft, draftProblem, EMPTY_DRAFT, invokeBody } from "./request.ts";
import { pythonValue, snippets } from "./snippets.ts";

const run = promisify(execFile);
const base = echoServer();

const NASTY =
  String.raw`{"text":"it's $HOME ~id~ \"quoted\" \\ !x @file & ; %","big":9007199254740993,"line":"a\nb","ü":null}`.replaceAll(
    "~",
    "`",
  );

function made(name: string, draft: Draft): string {
  const found = snippets("orders::it's", draft, { http: base(), bridge: "ws://127.0.0.1:49134" }).find(
    (snippet) => snippet.name === name,
  );
  if (found === undefined) throw new Error(name);
  return found.text;
}

it("sends exactly the page's body with curl through a shell", async () => {
  const draft: Draft = { ...EMPTY_DRAFT, payload: NASTY, timeoutMs: "5000", metadata: '{"a":"\'"}' };
  const { stdout } = await run("sh", ["-c", made("curl", draft)]);
  expect(stdout).toBe(`POST /_console/invoke\n${invokeBody("orders::it's", draft)}`);
});

it("quotes the CLI's arguments for a shell", async () => {
  const text = made("CLI", { ...EMPTY_DRAFT, payload: NASTY }).replace("svc trigger", "printf '%s\\n'");
  const { stdout } = await run("sh", ["-c", text]);
  expect(stdout.split("\n").slice(0, 2)).toEqual(["--function-id=orders::it's", `--payload=${NASTY}`]);
});

it("writes a Python literal of the same value, with all digits", async () => {
  const { stdout } = await run("python3", [
    "-c",
    `import json\nprint(json.dumps(${pythonValue(parseJson(NASTY))}, ensure_ascii=False, separators=(",", ":")))`,
  ]);
  expect(JSON.parse(stdout)).toEqual(JSON.parse(NASTY));
  expect(stdout).toContain("9007199254740993");
});

it("passes JSON in TypeScript if JavaScript would round a number", () => {
  expect(made("TypeScript", { ...EMPTY_DRAFT, payload: NASTY })).toContain("worker.callJson({");
  expect(made("TypeScript", { ...EMPTY_DRAFT, payload: '{"a": 1}' })).toContain("worker.call({");
});

it("uses the method or function of the selected mode", () => {
  const queued: Draft = { ...EMPTY_DRAFT, mode: "enqueue", queue: "slow", payload: "1" };
  expect(made("CLI", queued)).toContain(`--payload='{"queue":"slow","function_id":"orders::it'\\''s","data":1}'`);
  expect(made("Python", queued)).toContain("worker.enqueue({");
  expect(made("TypeScript", { ...EMPTY_DRAFT, mode: "void" })).toContain("worker.callVoid({");
});

it.each([
  [{ payload: "{" }, "payload is not JSON"],
  [{ timeoutMs: "0" }, "timeout"],
  [{ timeoutMs: "1e3" }, "timeout"],
  [{ metadata: "{" }, "metadata is not JSON"],
  [{ mode: "enqueue" as const, queue: " " }, "Queue"],
])("rejects a draft with %j", (change, problem) => {
  expect(draftProblem({ ...EMPTY_DRAFT, ...change })).toContain(problem);
  expect(draftProblem(EMPTY_DRAFT)).toBeUndefined();
});
