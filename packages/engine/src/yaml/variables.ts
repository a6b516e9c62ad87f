/**
 * `${NAME}` and `${NAME:default}` in the texts of a config file. Replacement happens after YAML parsing and inside one text,
 * so a value from the environment is never read as YAML structure.
 */

export type Substitution =
  /** Holds nothing to replace. */
  | { readonly kind: "none" }
  /** `whole`: the text was exactly one variable, nothing before or after it. */
  | { readonly kind: "replaced"; readonly text: string; readonly whole: boolean }
  | { readonly kind: "refused"; readonly message: string };

/** Answers a variable's value; undefined when it is not set. A variable set to nothing is set. */
export type VariableLookup = (name: string) => string | undefined;

export function lookupIn(env: Readonly<Record<string, string | undefined>>): VariableLookup {
  return (name) => (Object.hasOwn(env, name) ? env[name] : undefined);
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** `$${` first, so that an escaped variable is never taken for one. The last branch is one that nobody closed. */
const MARK = /\$\$\{|\$\{([^}]*)\}|\$\{/g;

/**
 * Replaces the variables of one text. `$${` stands for a literal `${`. A default ends at the first `}` and may be empty.
 * Refused: a variable without value and default, a name that is none, a variable inside a variable, a missing `}`.
 */
export function substitute(text: string, lookup: VariableLookup): Substitution {
  if (!text.includes("${")) return { kind: "none" };
  const refusals: string[] = [];
  let variables = 0;
  let replacedLength = 0;
  const replaced = text.replace(MARK, (mark, inside: string | undefined) => {
    if (mark === "$${") return "${";
    variables += 1;
    replacedLength += mark.length;
    const value =
      inside === undefined
        ? { refusal: `\${ is never closed; write \${NAME} or \${NAME:default}, and $\${ for a literal \${` }
        : resolveVariable(inside, lookup);
    if ("refusal" in value) {
      refusals.push(value.refusal);
      return mark;
    }
    return value.text;
  });
  const [message] = refusals;
  if (message !== undefined) return { kind: "refused", message };
  return { kind: "replaced", text: replaced, whole: variables === 1 && replacedLength === text.length };
}

/** The text that `substitute` reads as `text` itself, whatever it holds. */
export function literalText(text: string): string {
  return text.replaceAll("${", () => "$${");
}

function resolveVariable(inside: string, lookup: VariableLookup): { readonly text: string } | { readonly refusal: string } {
  const colon = inside.indexOf(":");
  const name = colon === -1 ? inside : inside.slice(0, colon);
  const fallback = colon === -1 ? undefined : inside.slice(colon + 1);
  if (inside.includes("${")) return { refusal: "a variable cannot stand inside another one; give each its own key or a plain default" };
  if (!NAME.test(name)) {
    return { refusal: `\${${inside}} is not a variable: a name has letters, digits and _, and does not begin with a digit. Write $\${ for a literal \${` };
  }
  const text = lookup(name) ?? fallback;
  if (text === undefined) return { refusal: `the environment variable ${name} is not set and has no default; set it, or give it a default: \${NAME:default}` };
  return { text };
}

export type PlainScalar = string | number | boolean | null;

const NULL = /^(?:~|null|Null|NULL)$/;
const TRUE = /^(?:true|True|TRUE)$/;
const FALSE = /^(?:false|False|FALSE)$/;
const DECIMAL = /^[-+]?[0-9]+$/;
const OCTAL_OR_HEX = /^0(?:o[0-7]+|x[0-9a-fA-F]+)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/**
 * Reads a text as YAML 1.2 reads an unquoted scalar: `3111` is a number, `true` a boolean, `null` or `~` nothing, all else text.
 * Unlike there, an empty text stays text, quotes mean nothing, and a whole number too large to be exact stays text.
 */
export function readPlainScalar(text: string): PlainScalar {
  const word = text.trim();
  if (NULL.test(word)) return null;
  if (TRUE.test(word)) return true;
  if (FALSE.test(word)) return false;
  if (DECIMAL.test(word) || OCTAL_OR_HEX.test(word)) return exactNumber(word) ?? text;
  if (FLOAT.test(word)) return finiteNumber(word) ?? text;
  return text;
}

function exactNumber(word: string): number | undefined {
  const value = Number(word);
  return Number.isSafeInteger(value) ? value : undefined;
}

function finiteNumber(word: string): number | undefined {
  const value = Number(word);
  return Number.isFinite(value) ? value : undefined;
}
