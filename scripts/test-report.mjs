// What failed, of the reports that the test runners write. `npm test` repeats it at its end, where a run of many minutes is looked at first:
// what a runner prints of a failure stands thousands of lines above. Plain Node without dependencies.
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { root } from "./steps.mjs";

const MAX_FAILURES = 25;
/** Of a failure: a message begins with what was expected, and what a command printed ends with why it failed. */
const FIRST_LINES = 4;
const LAST_LINES = 8;
const MAX_LINE_LENGTH = 240;
/** Lines of a stack that are not about the test. */
const RUNNERS_OWN = /^\s+at .*(?:node_modules|node:internal|<anonymous>\)$)/;

/**
 * The failures of a report of Vitest's JSON reporter, which is that of Jest: https://vitest.dev/guide/reporters#json-reporter.
 * @param {string} project the runner's project, e.g. "e2e"
 * @param {{ testResults?: readonly object[] }} report
 * @returns {{ test: string, message: string }[]}
 */
export function vitestFailures(project, { testResults = [] }) {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = `${project} ${relative(root, name)}`;
    const failed = assertionResults.filter((test) => test.status === "failed");
    // A file that does not load, or whose hook fails, has a message of its own; a hook of some of its tests leaves none.
    const isOfFile = status === "failed" && (message !== "" || failed.length === 0);
    const ofFile = isOfFile ? [{ test: file, message: message || "a hook failed; the output above says how" }] : [];
    const ofTests = failed.map((test) => ({
      test: `${file}: ${[...test.ancestorTitles, test.title].join(" > ")}`,
      message: test.failureMessages.join("\n"),
    }));
    return [...ofFile, ...ofTests];
  });
}

/**
 * The failures of a JUnit report as pytest writes it: https://docs.pytest.org/en/stable/how-to/output.html#creating-junitxml-format-files.
 * @param {string} xml
 * @returns {{ test: string, message: string }[]}
 */
export function pytestFailures(xml) {
  const cases = xml.matchAll(/<testcase classname="([^"]*)" name="([^"]*)"[^>]*><(?:failure|error) message="([^"]*)"/g);
  return [...cases].map(([, className, name, message]) => ({ test: `pytest ${decoded(className)}: ${decoded(name)}`, message: decoded(message) }));
}

/** Lines for a person: each failure's name and the ends of its message. Empty where nothing failed. */
export function failureLines(failures) {
  if (failures.length === 0) return [];
  const lines = ["Failed:"];
  for (const { test, message } of failures.slice(0, MAX_FAILURES)) {
    const said = stripVTControlCharacters(message ?? "")
      .split("\n")
      .filter((line) => line.trim() !== "" && !RUNNERS_OWN.test(line));
    const shown = said.length <= FIRST_LINES + LAST_LINES ? said : [...said.slice(0, FIRST_LINES), "…", ...said.slice(-LAST_LINES)];
    lines.push("", `  ${test}`, ...shown.map((line) => `    ${line.slice(0, MAX_LINE_LENGTH)}`));
  }
  const more = failures.length - MAX_FAILURES;
  if (more > 0) lines.push("", `  and ${more} more; the output above has them`);
  return lines;
}

const ENTITIES = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function decoded(text) {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (entity, hex, decimal, name) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    return ENTITIES[name] ?? entity;
  });
}
