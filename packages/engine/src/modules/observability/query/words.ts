/** Longest word that is told apart, in UTF-16 units; of longer ones the beginning counts. */
const MAX_WORD = 64;
/** Most text; a third of the time. */
const PLAIN = /^[\0-\x7f]*$/;
const PLAIN_WORDS = /[a-z0-9]+/g;
const WORDS = /[\p{L}\p{N}]+/gu;

/** Words of a text in one spelling: runs of letters and digits, without case. Lazy, so that whoever has enough stops. */
export function* wordsOf(text: string): Generator<string> {
  const isPlain = PLAIN.test(text);
  for (const [word] of (isPlain ? text : text.normalize("NFKC")).toLowerCase().matchAll(isPlain ? PLAIN_WORDS : WORDS)) yield word.slice(0, MAX_WORD);
}

/** Shorter words are found only as they are: there is no end of words that begin with one letter. */
const MIN_BEGINNING = 3;

/** A text search: every word of it begins a word of what is searched, in any order; a word of one or two letters has to be there as it is. */
export class WordSearch {
  readonly words: readonly string[];

  constructor(text: string) {
    this.words = [...new Set(wordsOf(text))];
  }

  /** Whether words that begin with this word of the search are found too. */
  static isBeginning(word: string): boolean {
    return word.length >= MIN_BEGINNING;
  }

  /** Searches texts one after the other, as one. */
  matches(texts: Iterable<string>): boolean {
    const missing = new Set(this.words);
    for (const text of texts) {
      if (missing.size === 0) break;
      for (const word of wordsOf(text))
        for (const wanted of missing) if (WordSearch.isBeginning(wanted) ? word.startsWith(wanted) : word === wanted) missing.delete(wanted);
    }
    return missing.size === 0;
  }
}
