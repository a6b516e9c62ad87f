/** Maximum compared length of a word, in UTF-16 units; longer words are cut. */
const MAX_WORD = 64;
/** Most texts are ASCII; matching them this way takes a third of the time. */
const PLAIN = /^[\0-\x7f]*$/;
const PLAIN_WORDS = /[a-z0-9]+/g;
const WORDS = /[\p{L}\p{N}]+/gu;

/** Yields the words of a text: runs of letters and digits in lower case. Lazy, so that callers can stop early. */
export function* wordsOf(text: string): Generator<string> {
  const isPlain = PLAIN.test(text);
  for (const [word] of (isPlain ? text : text.normalize("NFKC")).toLowerCase().matchAll(isPlain ? PLAIN_WORDS : WORDS))
    yield word.slice(0, MAX_WORD);
}

/** Shorter words of a search must match whole words: one letter would be the prefix of too many. */
const MIN_BEGINNING = 3;

/**
 * A text search: every word must be the prefix of a word in the texts; words of one or two letters must match whole
 * words.
 */
export class WordSearch {
  readonly words: readonly string[];

  constructor(text: string) {
    this.words = [...new Set(wordsOf(text))];
  }

  /** True if this word of the search also matches longer words that begin with it. */
  static isBeginning(word: string): boolean {
    return word.length >= MIN_BEGINNING;
  }

  /** Searches several texts as one. */
  matches(texts: Iterable<string>): boolean {
    const missing = new Set(this.words);
    for (const text of texts) {
      if (missing.size === 0) break;
      for (const word of wordsOf(text))
        for (const wanted of missing)
          if (WordSearch.isBeginning(wanted) ? word.startsWith(wanted) : word === wanted) missing.delete(wanted);
    }
    return missing.size === 0;
  }
}
