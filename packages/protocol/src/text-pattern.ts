/**
 * Matches whole texts: `*` stands for any text and `?` for any character, all else for itself. Takes time in proportion to both lengths at worst, whatever
 * the pattern.
 */
export function matcherOf(pattern: string): (text: string) => boolean {
  return (text) => {
    let at = 0;
    let inPattern = 0;
    let star = -1;
    let afterStar = 0;
    while (at < text.length) {
      const wanted = pattern[inPattern];
      if (wanted === "*") {
        star = inPattern++;
        afterStar = at;
      } else if (wanted !== undefined && (wanted === "?" || wanted === text[at])) {
        inPattern++;
        at++;
      } else if (star !== -1) {
        // The last star takes one character more.
        inPattern = star + 1;
        at = ++afterStar;
      } else return false;
    }
    while (pattern[inPattern] === "*") inPattern++;
    return inPattern === pattern.length;
  };
}
