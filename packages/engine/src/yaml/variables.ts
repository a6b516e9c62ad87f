// Replaces `${NAME}` and `${NAME:default}` in the strings of a config file. They are replaced after YAML parsing, so
// that a value of an environment variable is never parsed as YAML structure.

export type Substitution =
  /** The text contains no variable. */
  | { readonly kind: "none" }
  /** `whole` is true if the text was exactly one variable and nothing else. */
  | { readonly kind: "replaced"; readonly text: string; readonly whole: boolean }
  | { readonly kind: "refused"; readonly message: string };

/** Returns a variable's value, or undefined if the variable is not set. An empty variable counts as set. */
export type VariableLookup = (name: string) => string | undefined;

export function lookupIn(env: Readonly<Record<string, string | undefined>>): VariableLookup {
  return (name) => (Object.hasOwn(env, name) ? env[name] : undefined);
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/**
 * Alternatives, in this order: `$${`, which must come first so that an escaped variable does not match the second one;
 * a variable; a variable that is never closed.
 */
const MARK = /\$\$\{|\$\{([^}]*)\}|\$\{/g;

/**
 * Replaces the variables in a string. `$${` is a literal `${`. A default ends at the first `}` and may be empty.
 * Refuses a variable that has neither value nor default, an invalid name, a variable inside a variable, and a missing
 * `}`.
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

/** Escapes a string, so that `substitute` returns it unchanged. */
export function literalText(text: string): string {
  return text.replaceAll("${", () => "$${");
}

function resolveVariable(
  inside: string,
  lookup: VariableLookup,
): { readonly text: string } | { readonly refusal: string } {
  const colon = inside.indexOf(":");
  const name = colon === -1 ? inside : inside.slice(0, colon);
  const fallback = colon === -1 ? undefined : inside.slice(colon + 1);
  if (inside.includes("${"))
    return { refusal: "a variable cannot stand inside another one; give each its own key or a plain default" };
  if (!NAME.test(name)) {
    return {
      refusal: `\${${inside}} is not a variable: a name has letters, digits and _, and does not begin with a digit. Write $\${ for a literal \${`,
    };
  }
  const text = lookup(name) ?? fallback;
  if (text === undefined)
    return {
      refusal: `the environment variable ${name} is not set and has no default; set it, or give it a default: \${NAME:default}`,
    };
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
 * Converts a string like an unquoted YAML 1.2 scalar: `3111` is a number, `true` a boolean, `null` or `~` null,
 * anything else a string. There are three differences to YAML: an empty string stays a string; quotes have no meaning;
 * an integer that a JavaScript number cannot represent exactly stays a string.
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
