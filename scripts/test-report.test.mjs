import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "./steps.mjs";
import { failureLines, pytestFailures, vitestFailures } from "./test-report.mjs";

/** Report of a run with a failed test, a file that does not load and a failed hook. */
const REPORT = {
  testResults: [
    {
      name: join(root, "a.test.mjs"),
      status: "failed",
      message: "",
      assertionResults: [
        {
          ancestorTitles: ["lists"],
          title: "adds",
          status: "failed",
          failureMessages: [
            "AssertionError: expected 2 to be 3 // Object.is equality\n    at /r/a.test.mjs:1:58\n    at file:///r/node_modules/@vitest/runner/dist/x.js:1:2\n    at new Promise (<anonymous>)",
          ],
        },
        { ancestorTitles: ["lists"], title: "is fine", status: "passed", failureMessages: [] },
      ],
    },
    {
      name: join(root, "b.test.mjs"),
      status: "failed",
      message: "Cannot find module './gone.mjs' imported from /r/b.test.mjs",
      assertionResults: [],
    },
    {
      name: join(root, "c.test.mjs"),
      status: "failed",
      message: "no engine",
      assertionResults: [{ ancestorTitles: [], title: "never begins", status: "skipped", failureMessages: [] }],
    },
    {
      name: join(root, "e.test.mjs"),
      status: "failed",
      message: "the engine is still there",
      assertionResults: [
        {
          ancestorTitles: [],
          title: "fails before its hook does",
          status: "failed",
          failureMessages: ["Error: no answer"],
        },
      ],
    },
    { name: join(root, "f.test.mjs"), status: "failed", message: "", assertionResults: [] },
    {
      name: join(root, "d.test.mjs"),
      status: "passed",
      message: "",
      assertionResults: [{ ancestorTitles: [], title: "is fine, too", status: "passed", failureMessages: [] }],
    },
  ],
};

/** pytest's report of a test that passes, one that fails, one whose fixture fails, and one in a class. */
const XML = `<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="2" skipped="0" tests="4"><testcase classname="test_a" name="test_ok" time="0.000" /><testcase classname="test_a" name="test_adds" time="0.000"><failure message="assert {'a': '&lt;b&gt;'} == {'a': 'c&quot;'}&#10;  &#10;  Use -v to get more diff">def test_adds():
&gt;       assert {"a": "&lt;b&gt;"} == {"a": 'c"'}
test_a.py:4: AssertionError</failure></testcase><testcase classname="test_a" name="test_err" time="0.000"><error message="failed on setup with &quot;RuntimeError: no engine&quot;">@pytest.fixture
test_a.py:6: RuntimeError</error></testcase><testcase classname="test_a.TestC" name="test_m[a&lt;b]" time="0.001"><failure message="AssertionError: assert 'a&lt;b' == 'é'">self = &lt;test_a.TestC object&gt;
test_a.py:11: AssertionError</failure></testcase></testsuite></testsuites>`;

it("names tests that fail, files that do not load and hooks that fail", () => {
  expect(vitestFailures(REPORT).map(({ test }) => test)).toEqual([
    "a.test.mjs: lists > adds",
    "b.test.mjs",
    "c.test.mjs",
    "e.test.mjs",
    "e.test.mjs: fails before its hook does",
    "f.test.mjs",
  ]);
  expect(vitestFailures(REPORT).at(-1)?.message).toBe("a hook failed; see the output above");
  expect(vitestFailures({})).toEqual([]);
});

it("reads pytest's message of a failure", () => {
  expect(pytestFailures(XML)).toEqual([
    {
      test: "test_a: test_adds",
      message: "assert {'a': '<b>'} == {'a': 'c\"'}\n  \n  Use -v to get more diff",
      command: "npm test -- python/tests/test_a.py -t 'test_adds'",
    },
    {
      test: "test_a: test_err",
      message: 'failed on setup with "RuntimeError: no engine"',
      command: "npm test -- python/tests/test_a.py -t 'test_err'",
    },
    {
      test: "test_a.TestC: test_m[a<b]",
      message: "AssertionError: assert 'a<b' == 'é'",
      command: "npm test -- python/tests/test_a.py -t 'test_m'",
    },
  ]);
  expect(pytestFailures("")).toEqual([]);
});

it("shows each failure's message without the runner's own lines, and the command that runs the test alone", () => {
  expect(failureLines(vitestFailures(REPORT).slice(0, 2))).toEqual([
    "Failed:",
    "",
    "  a.test.mjs: lists > adds",
    "    AssertionError: expected 2 to be 3 // Object.is equality",
    "        at /r/a.test.mjs:1:58",
    "    Run it alone: npm test -- a.test.mjs -t 'lists adds'",
    "",
    "  b.test.mjs",
    "    Cannot find module './gone.mjs' imported from /r/b.test.mjs",
    "    Run it alone: npm test -- b.test.mjs",
  ]);
  expect(failureLines([])).toEqual([]);
});

it("keeps both ends of a long message: the expectation, and the last output of a command", () => {
  const message = [
    "expected 1 to be 0",
    ...Array.from({ length: 30 }, (_, at) => `  | line ${at}`),
    "  cause: no network",
  ].join("\n");
  const lines = failureLines([{ test: "e2e a.test.ts: installs", message }]);
  expect(lines[3]).toBe("    expected 1 to be 0");
  expect(lines.at(-1)).toBe("      cause: no network");
  expect(lines).toHaveLength(16);
});

it("stays short with any number of failures", () => {
  const many = Array.from({ length: 400 }, (_, at) => ({
    test: `unit test ${at}`,
    message: "\u001b[31mlong\u001b[39m ".repeat(400).concat("\nline".repeat(400)),
  }));
  const lines = failureLines(many);
  expect(lines.at(-1)).toBe("  and 375 more; the output above has them");
  expect(lines.length).toBeLessThan(400);
  expect(lines.every((line) => line.length < 250 && !line.includes("\u001b"))).toBe(true);
});
