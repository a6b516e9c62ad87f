/** A program, script or file of a guide. */
export interface Sample {
  readonly name: string;
  /** The fence's word: `ts`, `python`, `sh`, `yaml`, … */
  readonly language: string;
  readonly code: string;
}

// The mark is on its own line, directly before its fence.
const MARKED = /^<!-- sample: ([\w-]+) -->\n+```(\w+)[^\n]*\n(.*?)^```$/gms;
const MARK = /^<!-- sample:/gm;

/**
 * Returns the marked samples of a guide. Blocks with the same name are one sample, in the guide's order. Throws on a
 * mark without a fence.
 */
export function samplesOf(guide: string): ReadonlyMap<string, Sample> {
  const samples = new Map<string, Sample>();
  const marked = [...guide.matchAll(MARKED)];
  if (marked.length !== [...guide.matchAll(MARK)].length)
    throw new Error("a sample mark stands before no fenced block, or names no sample");
  for (const [, name = "", language = "", code = ""] of marked) {
    const earlier = samples.get(name);
    if (earlier !== undefined && earlier.language !== language)
      throw new Error(`the sample ${name} is in ${earlier.language} and in ${language}`);
    samples.set(name, { name, language, code: earlier === undefined ? code : `${earlier.code}\n${code}` });
  }
  return samples;
}

/** Returns the samples that are TypeScript programs. */
export function programsOf(samples: ReadonlyMap<string, Sample>): Sample[] {
  return [...samples.values()].filter(({ language }) => language === "ts");
}
