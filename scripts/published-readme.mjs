// Changes a README so that its links work outside of the repository. Plain Node without dependencies.
import { posix } from "node:path";

const LINK = /\[([^\]]+)\]\(([^)\s]+)\)/g;

/** Returns the targets of the links in a text that lead to files. */
export function fileLinks(text) {
  return [...text.matchAll(LINK)].map(([, , target]) => target).filter(isFile);
}

/**
 * Returns the README of a package as it is published: links to other files of the repository lead to the repository's
 * address or, if it has none, become the path of the file.
 *
 * @param {string} text
 * @param {{ folder: string, base?: string }} options `folder`: of the README, from the repository's root, with `/`.
 *   `base`: address below which the files of this version are shown.
 */
export function publishedReadme(text, { folder, base }) {
  return text.replaceAll(LINK, (link, label, target) => {
    if (!isFile(target)) return link;
    const [path, anchor] = target.split("#");
    const file = posix.join(folder, path);
    if (base !== undefined) return `[${label}](${base}/${file}${anchor === undefined ? "" : `#${anchor}`})`;
    return label === file ? `\`${file}\`` : `${label} (\`${file}\`)`;
  });
}

function isFile(target) {
  return !/^(?:[a-z]+:|#)/i.test(target);
}
