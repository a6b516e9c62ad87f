// Finds names of packages that belong to others: `svc` on npm and PyPI, and the scope `@svc`. Commands with them would
// run foreign code.

const FOREIGN = [
  /\bnpx (?:--yes )?svc\b(?!-)/,
  /\b(?:npm (?:install|i|add|exec|create)|pnpm (?:add|dlx)|yarn add|bun add)\b[^`\n]*\s["']?svc["']?(?=[\s`"'@]|$)/,
  /\b(?:pip3?|uv|poetry|pipx)\b (?:pip )?(?:install|add|run)\b[^`\n]*\s["']?svc["']?(?=[\s`"'=<>[~]|$)/,
  /^svc(?:\s*[=<>~]=|\[)/,
  /@svc\//,
];

/** Returns true for the name of an npm package that belongs to others. */
export function isForeignPackage(name) {
  return name === "svc" || name.startsWith("@svc/");
}

/** Returns the lines of a text that name a foreign package, with their numbers: `12: npx svc dev`. */
export function foreignLines(text) {
  return text
    .split("\n")
    .flatMap((line, at) => (FOREIGN.some((pattern) => pattern.test(line)) ? [`${at + 1}: ${line}`] : []));
}
