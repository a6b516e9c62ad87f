// Reads failures from the test runners' reports. `npm test` repeats them at its end: in a run of many minutes the
// runner prints a failure thousands of lines earlier. Plain Node without dependencies.
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { root } from "./steps.mjs";
import { sourceFile } from "./test-selection.mjs";

const MAX_FAILURES = 25;
/**
 * Number of first and last lines of a message: it begins with the expectation, and the output of a command ends with
 * the reason of its failure.
 */
const FIRST_LINES = 4;
const LAST_LINES = 8;
const MAX_LINE_LENGTH = 240;
/** Lines of a stack that do not belong to the test. */
const RUNNERS_OWN = /^\s+at .*(?:node_modules|node:internal|<anonymous>\)$)/;

/**
 * Returns the failures in a report of Vitest's JSON reporter (Jest's format):
 * https://vitest.dev/guide/reporters#json-reporter. `command` runs the failed test alone.
 *
 * @param {{ testResults?: readonly object[] }} report
 * @returns {{ test: string, message: string, command: string }[]}
 */
export function vitestFailures({ testResults = [] }) {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = sourceFile(relative(root, name).replaceAll("\\", "/"));
    const failed = assertionResults.filter((test) => test.status === "failed");
    // A file that does not load, or whose hook fails, has its own message. A failed hook of some of its tests has none.
    const isOfFile = status === "failed" && (message !== "" || failed.length === 0);
    const ofFile = isOfFile
      ? [{ test: file, message: message || "a hook failed; see the output above", command: testCommand(file) }]
      : [];
    const ofTests = failed.map((test) => ({
      test: `${file}: ${[...test.ancestorTitles, test.title].join(" > ")}`,
      message: test.failureMessages.join("\n"),
      command: testCommand(file, test.fullName ?? [...test.ancestorTitles, test.title].join(" ")),
    }));
    return [...ofFile, ...ofTests];
  });
}

/**
 * Returns the failures of pytest's JUnit report:
 * https://docs.pytest.org/en/stable/how-to/output.html#creating-junitxml-format-files.
 *
 * @param {string} xml
 * @returns {{ test: string, message: string }[]}
 */
export function pytestFailures(xml) {
  const cases = xml.matchAll(/<testcase classname="([^"]*)" name="([^"]*)"[^>]*><(?:failure|error) message="([^"]*)"/g);
  return [...cases].map(([, className, name, message]) => {
    // `tests.test_x.TestClass`, or `test_x` if the folder is not a package.
    const file = /(?:^|\.)(test_\w+)/.exec(decoded(className))?.[1] ?? decoded(className);
    return {
      test: `${decoded(className)}: ${decoded(name)}`,
      message: decoded(message),
      command: testCommand(`python/tests/${file}.py`, decoded(name).replace(/\[.*$/s, "")),
    };
  });
}

/** Returns the shell command that runs one test, or one file. */
function testCommand(file, name) {
  return `npm test -- ${file}${name === undefined ? "" : ` -t '${name.replaceAll("'", "'\\''")}'`}`;
}

/** Returns lines to print: each failure's name and both ends of its message. Empty without failures. */
export function failureLines(failures) {
  if (failures.length === 0) return [];
  const lines = ["Failed:"];
  for (const { test, message, command } of failures.slice(0, MAX_FAILURES)) {
    const messageLines = stripVTControlCharacters(message ?? "")
      .split("\n")
      .filter((line) => line.trim() !== "" && !RUNNERS_OWN.test(line));
    const shown =
      messageLines.length <= FIRST_LINES + LAST_LINES
        ? messageLines
        : [...messageLines.slice(0, FIRST_LINES), "…", ...messageLines.slice(-LAST_LINES)];
    lines.push("", `  ${test}`, ...shown.map((line) => `    ${line.slice(0, MAX_LINE_LENGTH)}`));
    if (command !== undefined) lines.push(`    Run it alone: ${command}`);
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
