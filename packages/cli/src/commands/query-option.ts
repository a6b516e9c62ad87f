import { problemText, type QueryField, type QueryProblem } from "@svc-runtime/protocol/query";
import { InvalidArgumentError, Option } from "commander";

/** The option `--query`. Reports the first error of a query with its position. */
export function queryOption(
  things: string,
  read: (text: string) => { readonly problems: readonly QueryProblem[] },
): Option {
  return new Option("-q, --query <query>", `only ${things} that match this query; see below`).argParser((text) => {
    const [problem] = read(text).problems;
    if (problem === undefined) return text;
    throw new InvalidArgumentError(`${problemText(problem)}\n  ${text}\n  ${" ".repeat(problem.at)}^`);
  });
}

/**
 * Returns a description of the query language for the help of a command. `error` is the meaning of the word `error` in
 * a query, if it has one.
 */
export function queryHelp(fields: readonly QueryField[], error: string | undefined): string {
  const width = Math.max(...fields.map(({ name }) => name.length), "attr.NAME".length) + 2;
  const row = (name: string, text: string): string => `  ${name.padEnd(width)}${text}\n`;
  return [
    "\nQuery: filters joined with and, or, not and parentheses.\n",
    error === undefined ? "" : row("error", error),
    ...fields.map(({ name, description }) => row(name, description)),
    error === undefined
      ? row("attr.NAME", "a member of the value, like value.NAME")
      : row("attr.NAME", "an attribute; resource.NAME one of the resource"),
    "  Operators: field:value (* is any text), !=, >, >=, <, <=, ~ (contains).\n",
    "  Words without a field are searched as text. Guide: docs/guide/queries.md\n",
  ].join("");
}
