import { catalogue, language } from "./catalogue.ts";

const rules = new Intl.PluralRules(language);

/**
 * Returns the key of a template in the catalogue: the text of the template with `{0}`, `{1}` and so on in place of its
 * values.
 */
function keyOf(parts: readonly string[]): string {
  return parts.reduce((key, part, at) => `${key}{${at - 1}}${part}`);
}

/** Formats a number as the pages show it, e.g. 1,234. */
function formatted(value: number): string {
  return value.toLocaleString("en-GB");
}

/**
 * Returns the pieces of a text. The placeholders `{0}`, `{1}` and so on are replaced by the values. Numbers are
 * formatted.
 */
function fill<Value>(text: string, values: readonly Value[]): (string | Value | undefined)[] {
  return text.split(/\{(\d+)\}/).map((piece, at) => {
    if (at % 2 === 0) return piece;
    const value = values[Number(piece)];
    return typeof value === "number" ? formatted(value) : value;
  });
}

/** Returns the pieces of a template in the language of the page. */
export function translated<Value>(parts: readonly string[], values: readonly Value[]): (string | Value | undefined)[] {
  const key = keyOf(parts);
  const translation = catalogue?.get(key);
  return fill(typeof translation === "string" ? translation : key, values);
}

/**
 * Returns a text in the language of the page. It is a template tag. The English text of the template is the key in the
 * catalogue. Numbers are formatted. A number that must not be formatted, for example a port, is passed as
 * `String(port)`.
 */
export function t(parts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return translated(parts, values).join("");
}

/**
 * Returns a text for a count in the language of the page. In the text, `#` is the count, and `{0}` and so on are the
 * `values`. The key in the catalogue is `other`, the English text for all counts except 1.
 */
export function plural(count: number, one: string, other: string, ...values: readonly (string | number)[]): string {
  const translation = catalogue?.get(other);
  const text =
    typeof translation === "object"
      ? (translation[rules.select(count)] ?? translation.other ?? other)
      : count === 1
        ? one
        : other;
  return fill(text.replaceAll("#", formatted(count)), values).join("");
}
