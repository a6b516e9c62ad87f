/** Types for the parser that tests use, which has none. */
declare module "parse-prometheus-text-format" {
  interface ParsedFamily {
    readonly name: string;
    readonly help: string;
    readonly type: string;
    readonly metrics: readonly {
      readonly labels?: Readonly<Record<string, string>>;
      readonly value?: string;
      readonly buckets?: Readonly<Record<string, string>>;
      readonly count?: string;
      readonly sum?: string;
    }[];
  }
  export default function parsePrometheusTextFormat(text: string): readonly ParsedFamily[];
}
