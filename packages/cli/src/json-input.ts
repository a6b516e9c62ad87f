import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { findJsonFault } from "@svc/protocol/json-text";
import { readToEnd } from "./bounded-read.ts";
import { CommandFailure, usageFailure } from "./exit-codes.ts";
import type { Shell } from "./shell.ts";

/** What one call may carry. */
const MAX_BYTES = 16 * 1024 * 1024;
const SHOWN_BEFORE = 20;
const SHOWN_AFTER = 20;

/** What the JSON is, in messages, and the option that carries it. */
export interface JsonSource {
  /** E.g. `payload`. */
  readonly noun: string;
  /** How it is given, with an example, e.g. `--payload='{"a": 2, "b": 3}'`. */
  readonly example: string;
}

/** JSON text given on the command line: as it is, `@FILE`, or `-` or `@-` for standard input. Text that is not JSON: exit 2, with the place. */
export async function jsonArgument(shell: Shell, text: string, source: JsonSource): Promise<string> {
  if (text === "-" || text === "@-") return jsonFromStdin(shell, source);
  if (text.startsWith("@")) return jsonFromFile(shell, text.slice(1), source);
  return checkedJson(text, source);
}

/** JSON text from a file, or from standard input where the file is called `-`. */
export async function jsonFromFile(shell: Shell, file: string, source: JsonSource): Promise<string> {
  if (file === "-") return jsonFromStdin(shell, source);
  return checkedJson(await textOfFile(shell, file), { ...source, from: file });
}

async function jsonFromStdin(shell: Shell, source: JsonSource): Promise<string> {
  return checkedJson(await textOfStdin(shell, source.noun), { ...source, from: "standard input" });
}

/** A file's text; it may be a pipe, too. Exit 1 when it cannot be read. */
export async function textOfFile(shell: Shell, file: string): Promise<string> {
  // As a stream: the size that a pipe or a device says it has is 0.
  const bytes = await readToEnd(createReadStream(resolve(shell.cwd, file)), MAX_BYTES).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "there is no such file" : code === "EISDIR" ? "it is a folder" : (error as Error).message;
    throw new CommandFailure(`${file} cannot be read: ${why}.`, { cause: error });
  });
  return textOf(bytes, file);
}

/** What standard input holds. */
export async function textOfStdin(shell: Shell, noun: string): Promise<string> {
  if (shell.ask !== undefined) shell.note(`Reading the ${noun} from the terminal; Ctrl-D ends it.\n`);
  return textOf(await shell.readStdin({ maxBytes: MAX_BYTES }), "standard input");
}

/** Without a byte order mark. What is no text is refused, and not stored with its bytes replaced. */
function textOf(bytes: Uint8Array | undefined, from: string): string {
  if (bytes === undefined) throw new CommandFailure(`${from} is longer than ${MAX_BYTES / 1024 / 1024} MiB, which is the most that one call may carry.`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new CommandFailure(`${from} is no UTF-8 text.`, {
      advice: ["Text of another encoding: iconv -t UTF-8 makes it so. Bytes that are no text are carried in Base64."],
      cause: error,
    });
  }
}

/** The text, which is sent as it was typed. Text that is not JSON: exit 2, with the place, and a word on quoting where it was typed. */
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

/** How to keep the shell from taking JSON apart. */
export function quotingAdvice(example: string): readonly string[] {
  const onWindows = example.replace(/'(.*)'/, (_, json: string) => `"${json.replaceAll('"', '\\"')}"`);
  return [`Put the JSON in single quotes, so that the shell leaves it alone: ${example}`, `On Windows: ${onWindows}`];
}

/**
 * An object from `key=value` words: what reads as JSON is that JSON, to the digit; anything else is a text. `key='"007"'` is a text that looks like
 * a number.
 */
export function objectOfFields(fields: readonly string[]): string {
  const members = new Map<string, string>();
  for (const field of fields) {
    const [name, value] = [field.slice(0, field.indexOf("=")), field.slice(field.indexOf("=") + 1)];
    if (members.has(name)) throw usageFailure(`${name} is given twice.`);
    members.set(name, findJsonFault(value) === undefined ? value : JSON.stringify(value));
  }
  return `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
}

/** Whether a word is of the form `key=value`. */
export function isField(word: string): boolean {
  return /^[^={}[\]"'\s]+=/.test(word);
}
