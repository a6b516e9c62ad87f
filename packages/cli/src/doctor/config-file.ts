import { formatFinding, shownPath } from "../config-check.ts";
import type { Check } from "./finding.ts";

/** The config file holds, and so do its workers' manifests. */
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
          message: `there is no ${shown}`,
          remedy: "Go to your project's folder, pass --config FILE, or make a project: svc create",
        },
      ];
    }
    return [{ check: "config", status: "problem", message, remedy: `See all of them: svc config check ${shown}` }];
  }
  const warnings = report.warnings.map((message) => ({ check: "config", status: "warning" as const, message }));
  return warnings.length > 0 ? warnings : [{ check: "config", status: "ok", message: `${shown} holds` }];
};
