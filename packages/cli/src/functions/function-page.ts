import { quoteWord } from "@svc-runtime/protocol";
import type { FunctionDetail } from "../engine/listings.ts";
import { escapeUnprintable } from "../logs/log-lines.ts";
import type { Shell } from "../shell.ts";
import { padded, widest } from "../terminal/text-width.ts";
import { membersOf, sampleOf, typeOf } from "./format-members.ts";
import { conditionOf } from "./trigger-condition.ts";

/** Formats all facts about one function: providers, formats, triggers and an example call. */
export function functionPage(detail: FunctionDetail, paint: Shell["paint"]): string {
  const { function_id, description, status, workers, validated, format_problem, request_format, response_format } =
    detail;
  const fact = (name: string, value: string): string => `${paint.dim(name.padEnd(12))}${escapeUnprintable(value)}`;
  const typeWidth = widest(detail.registered_triggers.map(({ trigger_type }) => trigger_type));
  const triggers = detail.registered_triggers.map(({ trigger_type, config }) =>
    `${padded(trigger_type, typeWidth)}  ${conditionOf(trigger_type, config)}`.trim(),
  );
  const lines = [
    paint.bold(escapeUnprintable(function_id)),
    ...(description === null ? [] : [escapeUnprintable(description)]),
    "",
    fact("workers", namesOf(workers)),
    fact("status", status),
    // If the engine does not validate payloads, the worker may do it with its own schema. The engine cannot know that.
    fact(
      "payloads",
      validated
        ? "validated by the engine before each call"
        : "not validated by the engine; the worker may validate them",
    ),
    ...(format_problem === null ? [] : [fact("", `validation is off: ${format_problem}`)]),
    ...triggers.map((trigger, index) => fact(index === 0 ? "triggers" : "", trigger)),
    "",
    ...formatLines("Request", request_format, paint),
    ...formatLines("Response", response_format, paint),
    paint.bold("Example call"),
    `  ${escapeUnprintable(exampleCall(function_id, request_format))}`,
  ];
  return `${lines.join("\n")}\n`;
}

/** Returns the names of the workers without duplicates. A name with several connections has their number. */
function namesOf(workers: FunctionDetail["workers"]): string {
  const counts = new Map<string, number>();
  for (const { name } of workers) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(", ");
}

function formatLines(title: string, format: unknown, paint: Shell["paint"]): readonly string[] {
  const head = paint.bold(title);
  if (format === null || format === undefined) return [`${head}  ${paint.dim("not described")}`, ""];
  const members = membersOf(format);
  if (members === undefined) return [`${head}  ${escapeUnprintable(typeOf(format))}`, ""];
  if (members.length === 0) return [`${head}  {}`, ""];
  const shown = members.map((member) => ({
    ...member,
    name: escapeUnprintable(member.name),
    type: escapeUnprintable(member.type),
  }));
  const nameWidth = widest(shown.map(({ name }) => name));
  const typeWidth = widest(shown.map(({ type }) => type));
  const rows = shown.map(({ name, type, isRequired, description }) =>
    `  ${padded(name, nameWidth)}  ${padded(type, typeWidth)}  ${isRequired ? "required" : paint.dim("optional")}  ${escapeUnprintable(description)}`.trimEnd(),
  );
  return [head, ...rows, ""];
}

/**
 * Returns an example call for the shell, with sample values for required members. A sample with control characters is
 * written as JSON, because JSON escapes them.
 */
export function exampleCall(functionId: string, format: unknown): string {
  const required = (membersOf(format) ?? []).filter(({ isRequired }) => isRequired);
  const call = `svc trigger ${quoteWord(functionId)}`;
  if (membersOf(format) === undefined)
    return format === null || format === undefined
      ? call
      : `${call} --payload=${quoteWord(JSON.stringify(sampleOf(format)))}`;
  const isFlat = required.every(
    ({ name, sample }) => /^[\w.-]+$/.test(name) && (typeof sample !== "object" || sample === null),
  );
  if (!isFlat) return `${call} --payload=${quoteWord(JSON.stringify(sampleOf(format)))}`;
  const fields = required.map(
    ({ name, sample }) =>
      `${name}=${quoteWord(typeof sample === "string" && !readsAsJson(sample) && escapeUnprintable(sample) === sample ? sample : JSON.stringify(sample))}`,
  );
  return [call, ...fields].join(" ");
}

function readsAsJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
