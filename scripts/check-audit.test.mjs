import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { auditReport, classifyAudit } from "./check-audit.mjs";

/**
 * Outputs of `npm audit --omit=dev --json` (npm 11). Those of the vulnerable packages come from a local registry with
 * invented advisories.
 */
const outputs = JSON.parse(readFileSync(new URL("./test-data/npm-audit.json", import.meta.url), "utf8"));

const classify = (name) => classifyAudit(JSON.stringify(outputs[name]));
const report = (name) => auditReport(classify(name));

describe("npm audit", () => {
  it("fails for advisories of severity high and critical, each listed once", () => {
    const { passed, lines } = report("vulnerable");
    expect(passed).toBe(false);
    expect(lines.filter((line) => !line.startsWith("note:")).sort()).toEqual([
      expect.stringMatching(
        /^critical: protobufjs <8\.0\.0: protobufjs prototype pollution \(https:.*GHSA-aaaa-bbbb-cccc\); no fixed release known/,
      ),
      expect.stringMatching(
        /^high: find-my-way <9\.10\.2: .*; (`npm audit fix` updates it|no fixed release known|update to find-my-way@)/,
      ),
    ]);
  });

  it("prints advisories of lower severity as notes", () => {
    expect(report("vulnerable").lines.filter((line) => line.startsWith("note:"))).toEqual([
      expect.stringMatching(/^note: low: cookie <2\.0\.0: .*; update to cookie@2\.0\.2$/),
    ]);
  });

  it.each(["info", "low", "moderate"])("passes when the worst advisory has severity %s", (severity) => {
    const output = structuredClone(outputs.vulnerable);
    for (const { via } of Object.values(output.vulnerabilities)) {
      for (const advisory of via) if (typeof advisory === "object") advisory.severity = severity;
    }
    const { passed, lines } = auditReport(classifyAudit(JSON.stringify(output)));
    expect(passed).toBe(true);
    expect(lines).toHaveLength(3);
  });

  it("passes without advisories", () => {
    expect(report("clean")).toEqual({ passed: true, lines: ["no known vulnerabilities"] });
  });

  it.each(["methodNotAllowed", "nameNotFound", "connectionRefused"])(
    "passes with a note when the registry does not answer: %s",
    (name) => {
      const { passed, lines } = report(name);
      expect(passed).toBe(true);
      expect(lines).toEqual([
        expect.stringMatching(/^note: not audited, because the registry did not answer: (405|request to)/),
      ]);
    },
  );

  it("fails for an error of npm itself", () => {
    expect(report("noLockFile")).toEqual({
      passed: false,
      lines: ["npm audit failed: ENOLOCK This command requires an existing lockfile."],
    });
  });

  it("fails for output that is no report", () => {
    expect(auditReport(classifyAudit("")).passed).toBe(false);
    expect(auditReport(classifyAudit("Segmentation fault")).lines).toEqual([
      "npm audit printed no JSON: Segmentation fault",
    ]);
    expect(auditReport(classifyAudit("{}")).passed).toBe(false);
  });
});
