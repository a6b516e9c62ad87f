/** Longest word that is told apart, in UTF-16 units; of longer ones the beginning counts. */
const MAX_WORD = 64;
const WORDS = /[\p{L}\p{N}]+/gu;

/** Words of a text in one spelling: runs of letters and digits, without case. Lazy, so that whoever has enough stops. */
export function* wordsOf(text: string): Generator<string> {
  for (const [word] of text.normalize("NFKC").toLowerCase().matchAll(WORDS)) yield word.slice(0, MAX_WORD);
}

/** A text search: every word of it begins a word of what is searched, in any order. */
export class WordSearch {
  readonly words: readonly string[];

  constructor(text: string) {
    this.words = [...new Set(wordsOf(text))];
  }

  /** Searches texts one after the other, as one. */
  matches(texts: Iterable<string>): boolean {
    const missing = new Set(this.words);
    for (const text of texts) {
      if (missing.size === 0) break;
      for (const word of wordsOf(text)) for (const wanted of missing) if (word.startsWith(wanted)) missing.delete(wanted);
    }
    return missing.size === 0;
  }
}
