/** Class names of a one-line input or select. */
export const INPUT = "h-7 rounded-md border border-line-strong/60 bg-surface px-2";
