// Checks the packages that we ship for known vulnerabilities: `npm audit --omit=dev`. Advisories of severity high and
// critical fail the check. Other advisories are printed as notes, and so is a registry that does not answer: some
// mirrors have no audit endpoint. `node scripts/check-audit.mjs` runs it alone.
import { execFile } from "node:child_process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { root } from "./steps.mjs";

const FAILING = new Set(["high", "critical"]);
const TIMEOUT_MS = 45_000;
const MAX_OUTPUT = 64 * 2 ** 20;
const ARGS = [
  "audit",
  "--omit=dev",
  "--json",
  "--fetch-retries=1",
  "--fetch-retry-mintimeout=1000",
  "--fetch-timeout=15000",
];

/**
 * @typedef {{ severity: string, name: string, range: string, title: string, url: string, fix: string }} Advisory
 * @typedef {{ unavailable: string } | { error: string } | { failing: Advisory[], other: Advisory[] }} AuditResult
 */

/**
 * Classifies the output of `npm audit --json`: a report, a failed request to the registry, or an error of npm itself (a
 * missing lock file).
 *
 * @param {string} stdout
 * @returns {AuditResult}
 */
export function classifyAudit(stdout) {
  let output;
  try {
    output = JSON.parse(stdout);
  } catch {
    return { error: `npm audit printed no JSON: ${stdout.trim().slice(0, 500) || "no output"}` };
  }
  if (output.vulnerabilities !== undefined) {
    const advisories = advisoriesOf(output.vulnerabilities);
    return {
      failing: advisories.filter(({ severity }) => FAILING.has(severity)),
      other: advisories.filter(({ severity }) => !FAILING.has(severity)),
    };
  }
  // Errors of the request have a message at the top; errors of npm have a code.
  if (output.error?.code === undefined && output.message !== undefined) return { unavailable: output.message };
  return {
    error: `npm audit failed: ${output.error?.code ?? ""} ${output.error?.summary ?? stdout.trim().slice(0, 500)}`,
  };
}

/**
 * Returns each advisory once. A package that is affected through a dependency only has the name of that dependency in
 * `via`.
 */
function advisoriesOf(vulnerabilities) {
  const advisories = new Map();
  for (const { via, fixAvailable } of Object.values(vulnerabilities)) {
    for (const advisory of via) {
      if (typeof advisory === "string") continue;
      const { source, severity, name, range, title, url } = advisory;
      advisories.set(source ?? url, { severity, name, range, title, url, fix: fixText(fixAvailable) });
    }
  }
  return [...advisories.values()];
}

function fixText(fixAvailable) {
  if (fixAvailable === true) return "`npm audit fix` updates it";
  if (fixAvailable?.name !== undefined) return `update to ${fixAvailable.name}@${fixAvailable.version}`;
  return "no fixed release known; replace the package, or override its version in package.json";
}

/** Returns the lines that describe a result, and whether the check passed. */
export function auditReport(result) {
  if ("unavailable" in result)
    return { passed: true, lines: [`note: not audited, because the registry did not answer: ${result.unavailable}`] };
  if ("error" in result) return { passed: false, lines: [result.error] };
  const line = ({ severity, name, range, title, url, fix }) =>
    `${severity}: ${name} ${range}: ${title} (${url}); ${fix}`;
  const { failing, other } = result;
  const summary = failing.length + other.length === 0 ? ["no known vulnerabilities"] : [];
  return {
    passed: failing.length === 0,
    lines: [...failing.map(line), ...other.map((one) => `note: ${line(one)}`), ...summary],
  };
}

/** @returns {Promise<AuditResult>} */
async function audit() {
  const path = process.env.npm_execpath;
  const [command, args] = path?.endsWith("npm-cli.js") ? [process.execPath, [path, ...ARGS]] : ["npm", ARGS];
  try {
    const { stdout } = await promisify(execFile)(command, args, {
      cwd: root,
      timeout: TIMEOUT_MS,
      maxBuffer: MAX_OUTPUT,
    });
    return classifyAudit(stdout);
  } catch (error) {
    if (error.killed && error.signal === "SIGTERM") return { unavailable: `no answer within ${TIMEOUT_MS / 1000} s` };
    // npm exits with status 1 for a report with vulnerabilities, too.
    if (typeof error.code === "number" && error.stdout) return classifyAudit(error.stdout);
    return { error: error.message };
  }
}

async function main() {
  const { passed, lines } = auditReport(await audit());
  for (const line of lines) console.error(line);
  return passed ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) process.exitCode = await main();
