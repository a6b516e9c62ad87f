import { CallError } from "@svc-runtime/protocol/client";
import type { StandardIssue, StandardResult, StandardSchema } from "./standard-schema.ts";

/** One problem of a value. */
export interface Issue {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/**
 * Maximum number of issues in an error's details. The error's message contains at most `MAX_ISSUES_IN_MESSAGE` issues.
 */
export const MAX_ISSUES = 100;
const MAX_ISSUES_IN_MESSAGE = 20;

/** Returns the issues as one line, each with its path. */
export function issuesText(issues: readonly Issue[]): string {
  const clauses = issues
    .slice(0, MAX_ISSUES_IN_MESSAGE)
    .map(({ path, message }) => (path.length === 0 ? message : `\`${path.join(".")}\`: ${message}`));
  const more = issues.length - clauses.length;
  return clauses.concat(more === 0 ? [] : `and ${more} more`).join("; ");
}

export function issuesOf(result: { readonly issues: readonly StandardIssue[] }): readonly Issue[] {
  return result.issues.slice(0, MAX_ISSUES).map(({ path = [], message }) => ({
    path: path.map((part) => {
      const key = typeof part === "object" ? part.key : part;
      return typeof key === "number" ? key : String(key);
    }),
    message,
  }));
}

/** Message and details of the error for a value that does not match its schema. */
export interface Mismatch {
  /** e.g. `the payload does not fit function math::add`. */
  readonly text: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Returns the schema's output for the value, with defaults and transforms applied. If the schema has asynchronous
 * checks, returns a promise. Throws or rejects with a CallError `invalid_input`, which names the fields that do not
 * match.
 */
export function parseBySchema(schema: StandardSchema, value: unknown, mismatch: () => Mismatch): unknown {
  const parsed = schema["~standard"].validate(value);
  return parsed instanceof Promise
    ? parsed.then((result) => outputOf(result, mismatch))
    : outputOf(parsed, mismatch);
}

function outputOf(result: StandardResult<unknown>, mismatch: () => Mismatch): unknown {
  if (result.issues === undefined) return result.value;
  const { text, details } = mismatch();
  const issues = issuesOf(result);
  throw new CallError("invalid_input", `${text}: ${issuesText(issues)}`, {
    details: { ...details, issues: issues.map(({ path, message }) => ({ path: path.join("."), message })) },
  });
}
