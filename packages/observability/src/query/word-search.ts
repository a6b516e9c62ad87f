/** Maximum length of a word that is compared, in UTF-16 units. Longer words are cut. */
const MAX_WORD = 64;
/**
 * Texts of ASCII characters only. Most texts are, and finding their words with `PLAIN_WORDS` takes a third of the time.
 */
const PLAIN = /^[\0-\x7f]*$/;
const PLAIN_WORDS = /[a-z0-9]+/g;
const WORDS = /[\p{L}\p{N}]+/gu;

/**
 * Yields the words of a text: runs of letters and digits, in lower case. It is a generator, so that callers can stop
 * early.
 */
export function* wordsOf(text: string): Generator<string> {
  const isPlain = PLAIN.test(text);
  for (const [word] of (isPlain ? text : text.normalize("NFKC")).toLowerCase().matchAll(isPlain ? PLAIN_WORDS : WORDS))
    yield word.slice(0, MAX_WORD);
}

/**
 * Minimum length of a search word that is used as a prefix. Shorter words must match whole words, because they are the
 * prefix of too many words.
 */
const MIN_BEGINNING = 3;

/**
 * A text search. Each word of the search must be the prefix of a word in the texts. Words of one or two letters must
 * equal a word in the texts.
 */
export class WordSearch {
  readonly words: readonly string[];

  constructor(text: string) {
    this.words = [...new Set(wordsOf(text))];
  }

  /** Returns true if this word of the search also matches longer words that begin with it. */
  static isBeginning(word: string): boolean {
    return word.length >= MIN_BEGINNING;
  }

  /** Tests several texts together: each word of the search must be in one of them. */
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
