// Texts of the console's page: the catalogue of its labels, and texts that are no labels.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { root } from "./steps.mjs";

const WEB = "packages/console/src/web";
/** Attributes and members of objects whose text a user reads. */
const SHOWN = new Set([
  ...["action", "alt", "ariaLabel", "aria-description", "aria-label", "aria-valuetext", "button", "confirm"],
  ...["description", "detail", "effect", "empty", "header", "heading", "hint", "label", "late", "message", "name"],
  ...["none", "note", "off", "placeholder", "problem", "purpose", "reason", "running", "text", "title", "unit", "what"],
]);
/** Functions, and which of their arguments a user reads. */
const SHOWN_ARGUMENTS = new Map([
  ["Error", 0],
  ["setFailure", 0],
  ["setProblem", 0],
  ["toast", 0],
  ["useHotkey", 1],
]);
/** Elements whose content is code or a key. */
const CODE_ELEMENTS = new Set(["code", "kbd", "pre"]);
/** Attributes, members, variables and functions whose strings are no text. */
const CODE =
  /^(?:aria-describedby|class|closest|cn|d|fill|href|id|key|matchMedia|querySelector|queryKey|style|to|transform|viewBox)$|class(?:name)?$/i;
const TAGS = new Set(["rich", "t"]);
/** Texts that are the same in each language. A text that contains no more than these is no label. */
const UNIVERSAL = [
  // Names of products: of this one, its packages and modules, and of languages and tools.
  /^svc(?:-[a-z]+)*$|^(?:CLI|curl|HTTP xx|Python|TypeScript)$/,
  // Units, percentiles, and literals of JSON.
  /^(?:(?:xx |\d+ )?(?:d|h|min|ms|ns|s|µs)(?: |$))+$|^p\d+$|^(?:false|null|true)$/,
  // Keys, as the browser names them.
  /^(?:Arrow|Ctrl|End|Enter|Escape|Home|Tab)$/,
  // Utility classes, and values of CSS and SVG.
  /(?:^| )(?:[\w-]+:)*(?:bg|border|flex|font|h|inline|min-w|px|rounded|text)-[\w[]/,
  /var\(--|^\d+px |^xx% |^[CM]?xx xxC|^translate|^<(?:path|svg|text) /,
  // Commands, code and config.
  /^(?:curl|import|node|npm|pip|python) |^svc (?:console|dev)\b|^(?:svc trigger )?--[a-z]|^worker\.|^workers:|^#|^\{"/,
  // Queries, of words such as `level>=warn` and `error`.
  /^(?=.*[:"<>~])(?:(?:(?:and|error|not|or|timeout)|\(?[\w.]+(?::|~|[<>]=?)\S+|"[^"]+")(?: |$))+$/,
];

/** Strings that are no text, by file: identifiers that a rule takes for text. */
const IDENTIFIERS = new Map([
  ["app/palette.tsx", ["command xx xx", "found xx", "g xx", "page xx", "recent xx"]],
  ["app/shell.tsx", ["g xx"]],
  ["lib/worker-history.ts", ["connected", "disconnected", "registered", "unregistered"]],
  ["model/flow-graph.ts", ["function xx"]],
  ["pages/dashboard/issues.ts", ["function xx"]],
  ["pages/dashboard/slowest-span.tsx", ["lean"]],
  ["pages/flow/model/groups.ts", ["group xx"]],
  ["pages/functions/functions-list.tsx", ["function xx xx", "group xx"]],
  // Code of calls in TypeScript and Python.
  [
    "pages/functions/invoke/snippets.ts",
    ["False", "None", "True", "function_id: xx", "metadata: xx", "payload: xx", "queue: xx", "timeoutMs: xx"],
  ],
  ["pages/functions/invoke/templates.tsx", ["templates of xx.json"]],
  ["pages/functions/schema-tab.tsx", ["xx-schema"]],
  ["pages/config/alerts/alert-draft.ts", ["keep", "log"]],
  // Comments of the exported YAML.
  ["pages/config/export-text.ts", [", from xx"]],
  ["pages/query/use-query-results.ts", ["logs", "state", "traces"]],
  ["pages/queues/job-detail.tsx", ["job-xx"]],
  ["pages/queues/queue-head.tsx", ["added", "cancelled", "died", "done", "expired"]],
  ["pages/queues/queue-history.tsx", ["queue xx"]],
  ["pages/states/ndjson.ts", ["changed", "expired", "new", "same"]],
  ["pages/streams/monitor.ts", ["away", "gap"]],
  ["pages/streams/use-view.ts", ["paused"]],
  ["pages/traces/detail/read-spans.ts", ["full", "ids"]],
  ["pages/traces/detail/use-found-spans.ts", ["ids"]],
  ["pages/traces/detail/use-trace.ts", ["lean"]],
  ["pages/triggers/triggers-list.tsx", ["section xx"]],
  ["pages/triggers/use-triggers.ts", ["last runs"]],
  ["pages/triggers/http/http-request.ts", ["Basic xx", "Bearer xx", "text/plain; charset=utf-8"]],
  ["pages/workers/metrics-tab.tsx", ["worker xx"]],
  ["pages/workers/use-worker-rows.ts", ["worker lines"]],
  ["ui/json-completion.ts", ["Property"]],
]);

const hasLetter = (text) => /\p{L}/u.test(text);
/** Returns true for a capitalized word, and for two words in a row. */
const isProse = (text) => /^\p{Lu}\p{Ll}+$|\p{Ll}[,:;.)”]* [(“]?\p{L}{2}|^\p{Lu}{2,} \p{Ll}{2}/u.test(text);

/** Returns the syntax tree of a source file. */
export function parse(path, text) {
  const kind = path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, kind);
}

export const isText = (node) => ts.isStringLiteral(node) || ts.isTemplateLiteral(node);

/** Returns the literal parts of a string or template. */
function literalParts(node) {
  if (!ts.isTemplateExpression(node)) return [node.text];
  return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)];
}

/** Returns the strings and templates that an expression may result in. */
export function results(node) {
  if (node === undefined) return [];
  if (isText(node)) return [node];
  if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isJsxExpression(node)) {
    return results(node.expression);
  }
  if (ts.isConditionalExpression(node)) return [...results(node.whenTrue), ...results(node.whenFalse)];
  if (!ts.isBinaryExpression(node)) return [];
  const operator = node.operatorToken.kind;
  if (operator === ts.SyntaxKind.AmpersandAmpersandToken) return results(node.right);
  return [ts.SyntaxKind.BarBarToken, ts.SyntaxKind.QuestionQuestionToken, ts.SyntaxKind.PlusToken].includes(operator)
    ? [...results(node.left), ...results(node.right)]
    : [];
}

function calledName({ expression }) {
  return ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText();
}

function isLabel({ parent }) {
  if (ts.isTaggedTemplateExpression(parent)) return TAGS.has(parent.tag.getText());
  return ts.isCallExpression(parent) && calledName(parent) === "plural";
}

/** Returns true if a string at this place is code: compared, a type, a class, a key. */
function isCode(node) {
  for (let at = node; at.parent !== undefined && !ts.isStatement(at) && !ts.isFunctionLike(at); at = at.parent) {
    if (isCodeIn(at.parent, at)) return true;
    if (ts.isJsxExpression(at.parent) && !ts.isJsxAttribute(at.parent.parent)) return false;
  }
  return false;
}

/** Returns true if `parent` takes no text as its part `node`. */
function isCodeIn(parent, node) {
  if (ts.isTypeNode(parent) || ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent)) return true;
  if (ts.isCaseClause(parent)) return parent.expression === node;
  if (ts.isElementAccessExpression(parent)) return parent.argumentExpression === node;
  if (ts.isBinaryExpression(parent)) return /^[!=]==$|^in$/.test(parent.operatorToken.getText());
  if (ts.isCallExpression(parent))
    return CODE.test(calledName(parent)) || parent.expression.getText() === "console.error";
  if (ts.isPropertyAssignment(parent) && parent.name === node) return true;
  const isNamed = ts.isJsxAttribute(parent) || ts.isPropertyAssignment(parent) || ts.isVariableDeclaration(parent);
  return isNamed && CODE.test(parent.name.getText());
}

function isInCodeElement({ parent }) {
  return ts.isJsxElement(parent) && CODE_ELEMENTS.has(parent.openingElement.tagName.getText());
}

/** Returns true for a template with a choice between texts, e.g. "item" and "items". */
function hasChoice(node) {
  if (!ts.isTemplateExpression(node)) return false;
  const choices = node.templateSpans.flatMap(({ expression }) => (isText(expression) ? [] : results(expression)));
  return choices.some((text) => literalParts(text).some((part) => /\p{Ll}{2}/u.test(part)));
}

/** Returns the strings and templates that a user reads because of the place of `node`, e.g. those of an attribute. */
function shownBy(node) {
  if (ts.isJsxAttribute(node) || ts.isPropertyAssignment(node)) {
    return SHOWN.has(node.name.getText()) ? results(node.initializer) : [];
  }
  if (ts.isJsxExpression(node)) return ts.isJsxAttribute(node.parent) || isInCodeElement(node) ? [] : results(node);
  if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return [];
  const at = SHOWN_ARGUMENTS.get(calledName(node));
  return at === undefined ? [] : results(node.arguments?.[at]);
}

/** Calls `visit` for each text of the page that is no label: nodes of JSX text, strings and templates. */
export function visitBareTexts(file, visit) {
  const path = file.fileName.slice(file.fileName.lastIndexOf(`${WEB}/`) + WEB.length + 1);
  const identifiers = IDENTIFIERS.get(path) ?? [];
  const isUniversal = (text) => UNIVERSAL.some((each) => each.test(text)) || identifiers.includes(text);
  const shown = new Set();
  const isBare = (node) => {
    const parts = literalParts(node);
    const text = parts.join("xx");
    const isRead = (parts.some(hasLetter) || hasChoice(node)) && !isUniversal(text);
    return isRead && (shown.has(node) || (isProse(text) && !isCode(node)));
  };
  const walk = (node) => {
    if (ts.isJsxText(node)) {
      const text = node.text.replace(/&\w+;/g, "").trim();
      if (hasLetter(text) && !isUniversal(text) && !isInCodeElement(node)) visit(node);
      return;
    }
    for (const text of shownBy(node)) shown.add(text);
    if (isText(node) && !isLabel(node) && isBare(node)) visit(node);
    ts.forEachChild(node, walk);
  };
  walk(file);
}

/** Returns the texts of a source file that are no labels, each as `line: text`. */
export function bareTexts(path, text) {
  const file = parse(path, text);
  const found = [];
  visitBareTexts(file, (node) => {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart());
    found.push(`${line + 1}: ${node.getText().trim()}`);
  });
  return found;
}

/** Returns a name for a value of a label, for translators. */
function nameOf(node) {
  if (ts.isJsxElement(node)) return nameOf(node.openingElement);
  if (ts.isJsxOpeningElement(node) || ts.isJsxSelfClosingElement(node)) return node.tagName.getText().toLowerCase();
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  if (ts.isCallExpression(node) && /^(?:format|slice|toFixed|toLocaleString|toString)$/.test(calledName(node))) {
    return nameOf(node.expression.expression);
  }
  if (ts.isCallExpression(node) && calledName(node) === "String") return nameOf(node.arguments[0]);
  if (ts.isCallExpression(node)) return calledName(node);
  if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node)) return nameOf(node.expression);
  if (ts.isBinaryExpression(node)) return nameOf(node.left);
  return "value";
}

/** Returns different names for the values. */
function namesOf(values) {
  const names = [];
  for (const value of values) {
    const name = nameOf(value).replace(/\W/g, "") || "value";
    const isTaken = (each) => names.includes(each);
    names.push(isTaken(name) ? `${name}${names.length}` : name);
  }
  return names;
}

function labelsOf(path, text) {
  const file = parse(path, text);
  const labels = [];
  const add = (key, value, names) => {
    const named = (each) => each.replace(/\{(\d+)\}/g, (_, at) => `{${names[Number(at)]}}`);
    labels.push([key, named(key), typeof value === "string" ? named(value) : value.map(named)]);
  };
  const walk = (node) => {
    if (ts.isTaggedTemplateExpression(node) && TAGS.has(node.tag.getText())) {
      const key = literalParts(node.template).reduce((all, part, at) => `${all}{${at - 1}}${part}`);
      const values = ts.isTemplateExpression(node.template) ? node.template.templateSpans : [];
      add(key, key, namesOf(values.map(({ expression }) => expression)));
    }
    if (ts.isCallExpression(node) && node.expression.getText() === "plural") {
      const [, one, other, ...values] = node.arguments;
      const order = [...other.text.matchAll(/\{(\d+)\}/g)].map(([, at]) => Number(at));
      if (order.some((index, at) => index !== at)) {
        throw new Error(`${path}: the values of plural are not in the order of the text: ${other.text}`);
      }
      add(other.text, [one.text, other.text], namesOf(values));
    }
    ts.forEachChild(node, walk);
  };
  walk(file);
  return labels;
}

/** Returns the sources of the page without tests, in the order of their paths. */
export function pageSources() {
  return readdirSync(join(root, WEB), { recursive: true })
    .map((path) => `${WEB}/${path.replaceAll("\\", "/")}`)
    .filter((path) => /\.tsx?$/.test(path) && !/\.test\.tsx?$|\/(?:testing|labels)\//.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

/**
 * Returns the catalogue of labels as JSON, sorted. The key of a label is its English text. Its value is the same text,
 * or the forms of a plural.
 */
export function labelCatalogue(sources = pageSources()) {
  const labels = new Map();
  for (const { path, text } of sources) {
    for (const [key, named, value] of labelsOf(path, text)) {
      if (!labels.has(key)) labels.set(key, [named, value]);
    }
  }
  const entries = [...labels.values()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => [key, typeof value === "string" ? value : { one: value[0], other: value[1] }]);
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`;
}
