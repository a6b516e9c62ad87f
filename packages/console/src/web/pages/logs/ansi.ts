export interface AnsiPart {
  readonly text: string;
  /** CSS classes for the style. Empty for text without a style. */
  readonly className: string;
}

const COLORS = [
  "text-ink-3",
  "text-danger",
  "text-ok",
  "text-warn",
  "text-info",
  "text-violet",
  "text-accent",
  "text-ink",
] as const;
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const SEQUENCE = /\u001b(?:\[([0-9;:]*)([ -/]*[@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\^_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are removed
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

interface Style {
  readonly bold: boolean;
  readonly dim: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
  readonly color: string;
}

/** Returns the text without escape sequences and control characters. */
export function plainText(text: string): string {
  return text.replace(SEQUENCE, "").replace(CONTROL, "");
}

/** Splits text into parts by its ANSI style. Removes all other escape sequences and control characters. */
export function ansiParts(text: string): readonly AnsiPart[] {
  const parts: AnsiPart[] = [];
  let style = PLAIN;
  let from = 0;
  const add = (piece: string): void => {
    const clean = piece.replace(CONTROL, "");
    if (clean === "") return;
    const { bold, dim, italic, underline, color } = style;
    const classes = [
      bold && "font-semibold",
      dim && "text-ink-3",
      italic && "italic",
      underline && "underline",
      color,
    ].filter(Boolean);
    parts.push({ text: clean, className: classes.join(" ") });
  };
  for (const match of text.matchAll(SEQUENCE)) {
    add(text.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[2] === "m") style = styled(style, (match[1] ?? "").split(/[;:]/).map(Number));
  }
  add(text.slice(from));
  return parts;
}

const PLAIN: Style = { bold: false, dim: false, italic: false, underline: false, color: "" };
const CHANGES: Readonly<Record<number, Partial<Style>>> = {
  0: PLAIN,
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  22: { bold: false, dim: false },
  23: { italic: false },
  24: { underline: false },
  39: { color: "" },
  ...Object.fromEntries(COLORS.flatMap((color, index) => [30 + index, 90 + index].map((code) => [code, { color }]))),
};

function styled(before: Style, codes: readonly number[]): Style {
  let style = before;
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] as number;
    // Colours by number (38;5;n) or by RGB (38;2;r;g;b) are skipped, because the console has no colour tokens for them.
    if (code === 38 || code === 48) at += codes[at + 1] === 5 ? 2 : 4;
    else style = { ...style, ...CHANGES[code] };
  }
  return style;
}
