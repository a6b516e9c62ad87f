export interface AnsiPart {
  readonly text: string;
  /** Classes of its look; empty for plain text. */
  readonly className: string;
}

const COLORS = ["text-ink-3", "text-danger", "text-ok", "text-warn", "text-info", "text-violet", "text-accent", "text-ink"] as const;
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const SEQUENCE = /\u001b(?:\[([0-9;:]*)([ -/]*[@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\^_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what has no look is left out
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** The text without escape sequences and control characters. */
export function plainText(text: string): string {
  return text.replace(SEQUENCE, "").replace(CONTROL, "");
}

/** Text that a terminal would colour, in parts with classes of ours. Everything else that a terminal would do is left out. */
export function ansiParts(text: string): readonly AnsiPart[] {
  const parts: AnsiPart[] = [];
  let style = { bold: false, dim: false, italic: false, underline: false, color: "" };
  let from = 0;
  const add = (piece: string): void => {
    const clean = piece.replace(CONTROL, "");
    if (clean === "") return;
    const { bold, dim, italic, underline, color } = style;
    const classes = [bold && "font-semibold", dim && "text-ink-3", italic && "italic", underline && "underline", color].filter(Boolean);
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

type Style = { bold: boolean; dim: boolean; italic: boolean; underline: boolean; color: string };

function styled(before: Style, codes: readonly number[]): Style {
  let style = { ...before };
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] as number;
    if (code === 0) style = { bold: false, dim: false, italic: false, underline: false, color: "" };
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 22) Object.assign(style, { bold: false, dim: false });
    else if (code === 23) style.italic = false;
    else if (code === 24) style.underline = false;
    else if (code === 39) style.color = "";
    else if (code >= 30 && code <= 37) style.color = COLORS[code - 30] as string;
    else if (code >= 90 && code <= 97) style.color = COLORS[code - 90] as string;
    // 38;5;n and 38;2;r;g;b: a colour that the page has no token for.
    else if (code === 38 || code === 48) at += codes[at + 1] === 5 ? 2 : 4;
  }
  return style;
}
