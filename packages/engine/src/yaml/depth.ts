import { Lexer } from "yaml";

/** Deepest nesting of lists and maps that is read. A real file needs about ten. */
export const MAX_YAML_DEPTH = 64;

/** What the lexer adds of its own, no characters of the text: a document begins, a scalar follows, broken brackets end here. */
const MARKS: ReadonlySet<string> = new Set(["\u0002", "\u001f", "\u0018"]);
const BRACKETS_BROKEN = "\u0018";

/**
 * The offset at which a text first nests deeper than MAX_YAML_DEPTH, or undefined.
 * Asked before parsing because the parser recurses per level, and running out of stack inside it can end the process.
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

/** Counts open block lists and maps by the columns at which their items begin. May count one too many, never one too few. */
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
