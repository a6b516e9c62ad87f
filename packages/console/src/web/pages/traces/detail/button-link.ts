/** A link that looks like the buttons beside it. */
export const buttonLink = "inline-flex h-7 items-center gap-1.5 whitespace-nowrap rounded-md border border-line bg-surface px-2.5 hover:bg-hover";
