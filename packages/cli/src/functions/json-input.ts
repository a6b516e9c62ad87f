import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { findJsonFault } from "@svc-runtime/protocol/json-text";
import { CommandFailure, usageFailure } from "../exit-codes.ts";
import type { Shell } from "../shell.ts";
import { readToEnd } from "../shell.ts";

/** Maximum size of a payload, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;
const SHOWN_BEFORE = 20;
const SHOWN_AFTER = 20;

/** Words for the description of the JSON in error messages. */
export interface JsonSource {
  /** Name of the JSON, e.g. `payload`. */
  readonly noun: string;
  /** Example of how to give it, e.g. `--payload='{"a": 2, "b": 3}'`. */
  readonly example: string;
}

/**
 * Returns JSON text from a command-line argument: the text itself, `@FILE`, or `-` or `@-` for standard input. Throws a
 * usage error with the position if it is not JSON.
 */
export async function jsonArgument(shell: Shell, text: string, source: JsonSource): Promise<string> {
  if (text === "-" || text === "@-") return jsonFromStdin(shell, source);
  if (text.startsWith("@")) return jsonFromFile(shell, text.slice(1), source);
  return checkedJson(text, source);
}

/** Returns JSON text from a file, or from standard input if the file is `-`. */
export async function jsonFromFile(shell: Shell, file: string, source: JsonSource): Promise<string> {
  if (file === "-") return jsonFromStdin(shell, source);
  return checkedJson(await textOfFile(shell, file), { ...source, from: file });
}

async function jsonFromStdin(shell: Shell, source: JsonSource): Promise<string> {
  return checkedJson(await textOfStdin(shell, source.noun), { ...source, from: "standard input" });
}

/** Returns the text of a file or pipe. Throws (exit 1) if it cannot be read. */
export async function textOfFile(shell: Shell, file: string): Promise<string> {
  // Read as a stream, because pipes and devices report a size of 0.
  const bytes = await readToEnd(createReadStream(resolve(shell.cwd, file)), MAX_BYTES).catch((error: unknown) => {
    throw readFailure(file, error);
  });
  return textOf(bytes, file);
}

/** Returns the failure to report for a file that cannot be read. */
export function readFailure(file: string, error: unknown): CommandFailure {
  const { code, message } = error as NodeJS.ErrnoException;
  const why = code === "ENOENT" ? "there is no such file" : code === "EISDIR" ? "it is a folder" : message;
  return new CommandFailure(`${file} cannot be read: ${why}`, { cause: error });
}

/** Returns the text of standard input. */
export async function textOfStdin(shell: Shell, noun: string): Promise<string> {
  if (shell.ask !== undefined) shell.note(`Reading the ${noun} from the terminal; press Ctrl-D to finish.\n`);
  return textOf(await shell.readStdin({ maxBytes: MAX_BYTES }), "standard input");
}

/** Decodes the bytes that were read. `bytes` is undefined if there were more than `MAX_BYTES`. */
function textOf(bytes: Uint8Array | undefined, from: string): string {
  if (bytes === undefined)
    throw new CommandFailure(`${from} is longer than ${MAX_BYTES / 1024 / 1024} MiB, the maximum for one call.`);
  return utf8Text(bytes, from);
}

/** Decodes UTF-8 and removes a byte order mark. Throws if bytes are invalid; they must not be replaced silently. */
export function utf8Text(bytes: Uint8Array, from: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new CommandFailure(`${from} is not UTF-8 text.`, {
      advice: ["Convert text of another encoding with iconv -t UTF-8. Encode binary data as Base64."],
      cause: error,
    });
  }
}

/**
 * Returns the text unchanged. Throws a usage error with the position if it is not JSON. If the text was typed on the
 * command line, the error has advice on quoting.
 */
export function checkedJson(text: string, { noun, example, from }: JsonSource & { readonly from?: string }): string {
  const fault = findJsonFault(text);
  if (fault === undefined) return text;
  const position = fault.tokenStart;
  const start = Math.max(0, position - SHOWN_BEFORE);
  const excerpt = text.slice(start, position + SHOWN_AFTER).replaceAll(/\s/g, " ");
  const where = position === text.length ? "it ends too early" : `at position ${position}`;
  throw usageFailure(
    `The ${noun}${from === undefined ? "" : ` in ${from}`} is not JSON: ${where}, where ${fault.expected} is expected.`,
    `  ${excerpt}`,
    `  ${" ".repeat(position - start)}^`,
    ...(from === undefined ? quotingAdvice(example) : []),
  );
}

/** Returns advice on quoting JSON in a shell. */
export function quotingAdvice(example: string): readonly string[] {
  const onWindows = example.replace(/'(.*)'/, (_, json: string) => `"${json.replaceAll('"', '\\"')}"`);
  return [
    `Put the JSON in single quotes, so that the shell does not change it: ${example}`,
    `On Windows: ${onWindows}`,
  ];
}

/**
 * Builds a JSON object from `key=value` words. A value that is valid JSON is copied unchanged, so that numbers are not
 * rounded. Any other value becomes a string. `key='"007"'` is a string that looks like a number. `isText` returns true
 * if the member must be a string although its value is valid JSON of another type.
 */
export function objectOfFields(
  fields: readonly string[],
  isText: (name: string, json: string) => boolean = () => false,
): string {
  const members = new Map<string, string>();
  for (const field of fields) {
    const [name, value] = [field.slice(0, field.indexOf("=")), field.slice(field.indexOf("=") + 1)];
    if (members.has(name)) throw usageFailure(`${name} is given twice.`);
    const isJson = findJsonFault(value) === undefined && !isText(name, value);
    members.set(name, isJson ? value : JSON.stringify(value));
  }
  return `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
}

/** Returns true if a word has the form `key=value`. */
export function isField(word: string): boolean {
  return /^[^={}[\]"'\s]+=/.test(word);
}
