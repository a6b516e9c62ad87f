import { formatFinding, shownPath } from "../project/config-check.ts";
import type { Check } from "./finding.ts";

/** Checks the config file and the manifests of its workers. */
export const configFile: Check = async ({ shell, report }) => {
  const shown = shownPath(shell, report.file);
  const [first] = report.problems;
  if (first !== undefined) {
    const others = report.problems.length - 1;
    const message = others === 0 ? formatFinding(first) : `${formatFinding(first)} (and ${others} more)`;
    const isMissing = first.line === null && first.message.startsWith("there is no such file");
    if (isMissing) {
      return [
        {
          check: "config",
          status: "warning",
          message: `${shown} not found`,
          remedy: "Go to your project's folder, pass --config FILE, or create a project: svc create",
        },
      ];
    }
    return [{ check: "config", status: "problem", message, remedy: `List all problems: svc config check ${shown}` }];
  }
  const warnings = report.warnings.map((message) => ({ check: "config", status: "warning" as const, message }));
  return warnings.length > 0 ? warnings : [{ check: "config", status: "ok", message: `${shown} is valid` }];
};
