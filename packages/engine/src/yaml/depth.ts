import { Lexer } from "yaml";

/** Maximum nesting depth of lists and maps. A real file needs about ten levels. */
export const MAX_YAML_DEPTH = 64;

/**
 * Lexemes that the lexer inserts although they are not in the text: start of a document, start of a scalar, end of
 * unbalanced brackets.
 */
const MARKS: ReadonlySet<string> = new Set(["\u0002", "\u001f", "\u0018"]);
const BRACKETS_BROKEN = "\u0018";

/**
 * Returns the offset at which a text first exceeds MAX_YAML_DEPTH, or undefined. This must be checked before parsing,
 * because the parser is recursive, and a stack overflow in it may crash the process.
 */
export function tooDeepAt(text: string): number | undefined {
  const blocks = new OpenBlocks();
  let brackets = 0;
  let offset = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme === BRACKETS_BROKEN) brackets = 0;
    if (MARKS.has(lexeme)) continue;
    if (brackets === 0) blocks.see(lexeme);
    blocks.advance(lexeme);
    if (lexeme === "[" || lexeme === "{") brackets += 1;
    if (lexeme === "]" || lexeme === "}") brackets = Math.max(0, brackets - 1);
    if (brackets + blocks.depth > MAX_YAML_DEPTH) return offset;
    offset += lexeme.length;
  }
  return undefined;
}

/** Counts open block lists and maps by the columns of their items. The count may be one too high, but never too low. */
class OpenBlocks {
  readonly #columns: number[] = [];
  #column = 0;
  #nodeMayBegin = true;

  get depth(): number {
    return this.#columns.length;
  }

  see(lexeme: string): void {
    if (!this.#nodeMayBegin || lexeme.trim() === "") return;
    while ((this.#columns.at(-1) ?? -1) >= this.#column) this.#columns.pop();
    this.#columns.push(this.#column);
    this.#nodeMayBegin = lexeme === "-" || lexeme === "?" || lexeme === ":";
  }

  advance(lexeme: string): void {
    const newline = lexeme.lastIndexOf("\n");
    if (newline === -1) {
      this.#column += lexeme.length;
      return;
    }
    this.#column = lexeme.length - newline - 1;
    this.#nodeMayBegin = true;
  }
}
