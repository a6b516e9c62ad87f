import { Command } from "commander";
import type { Finding } from "../doctor/finding.ts";
import { CommandFailure } from "../exit-codes.ts";
import { escapeUnprintableLines } from "../logs/log-lines.ts";
import type { Shell } from "../shell.ts";
import { hangingIndent } from "../terminal/word-wrap.ts";
import { configOption, urlOption } from "./options.ts";

interface DoctorOptions {
  readonly url?: string;
  readonly config?: string;
  readonly json?: true;
}

/** `svc doctor`: finds problems of this machine, this project and its engine, and shows how to fix them. */
export function doctorCommand(shell: Shell): Command {
  return new Command("doctor")
    .summary("find problems and tell how to fix them")
    .description(
      "Check what svc needs: versions, the config file, the toolchains of its workers, ports, the data folder and its disk, and the engine with its clock and workers. Each problem comes with its remedy. Nothing is changed. Exits with 1 if there is a problem.",
    )
    .addOption(urlOption())
    .addOption(configOption("config file of the project"))
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  svc doctor\n  svc doctor --json\n  svc doctor --url ws://10.0.0.5:49134\n")
    .action((options: DoctorOptions, command: Command) =>
      diagnose(shell, { ...options, ...command.optsWithGlobals<{ config?: string }>() }),
    );
}

async function diagnose(shell: Shell, options: DoctorOptions): Promise<void> {
  // Imported lazily: other commands must not load the checks.
  const { examine } = await import("../doctor/examine.ts");
  const findings = await examine(shell, options);
  const count = (status: Finding["status"]): number => findings.filter((finding) => finding.status === status).length;
  const problems = count("problem");
  if (options.json) {
    const checks = findings.map(({ remedy = null, ...finding }) => ({ ...finding, remedy }));
    shell.out(`${JSON.stringify({ ok: problems === 0, problems, warnings: count("warning"), checks })}\n`);
  } else shell.out(asText(findings, shell.outColumns));
  if (problems > 0) throw new CommandFailure(`${problems} ${problems === 1 ? "problem" : "problems"} found.`);
  if (!options.json) shell.note(count("warning") === 0 ? "No problems or warnings.\n" : "No problems.\n");
}

/** Prints one line per finding, with the remedy below it. */
function asText(findings: readonly Finding[], columns: number | undefined): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const indent = " ".repeat("warning".length + width + 4);
  return findings
    .flatMap(({ check, status, message, remedy }) => [
      ...hangingIndent(`${status.padEnd("warning".length)}  ${check.padEnd(width)}  `, message, columns),
      ...(remedy === undefined ? [] : hangingIndent(indent, remedy, columns)),
    ])
    .map((line) => `${escapeUnprintableLines(line)}\n`)
    .join("");
}
