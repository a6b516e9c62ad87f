import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { bareTexts, labelCatalogue, pageSources } from "./console-labels.mjs";
import { root } from "./steps.mjs";

it("has no text in the console's page that is no label", () => {
  const sources = pageSources();
  expect(sources.length).toBeGreaterThan(300);
  expect(sources.flatMap(({ path, text }) => bareTexts(path, text).map((found) => `${path}:${found}`))).toEqual([]);
});

it("finds texts that are no labels", () => {
  for (const bare of [
    "<p>Retry</p>",
    "<p>{count} jobs</p>",
    '<p>{isOpen ? "less" : "more"}</p>',
    `<p>{\`\${count} jobs\`}</p>`,
    '<Button aria-label="close" />',
    '<Button title={isOpen ? "less" : undefined} />',
    '[{ key: "job", header: "job" }]',
    'toast("saved")',
    'useHotkey("z", "zoom", zoom)',
    'throw new Error("refused")',
    'const NAMES = ["Waiting", "Done"]',
    'const NAMES = { http: "HTTP trigger" }',
    `const text = \`at least \${count}\``,
    `const text = \`\${count} \${count === 1 ? "job" : "jobs"}\``,
  ]) {
    expect(bareTexts("page.tsx", bare), bare).not.toEqual([]);
  }
});

it("accepts labels, code and what is the same in each language", () => {
  for (const fine of [
    "<p>{t`Retry`}</p>",
    `<p>{rich\`Add \${<code>svc-state</code>} to the config.\`}</p>`,
    '<p>{plural(count, "# job", "# jobs")}</p>',
    "<p>{count} / {total}</p>",
    "<code>config.yaml</code>",
    '<Button className="h-7 px-2" look="ghost" />',
    'if (event.key === "Escape") close()',
    'import { Button } from "./the button.tsx"',
    "type Kind = 'In flight' | 'Done'",
    `navigator.clipboard.writeText(\`svc console --port=\${port}\`)`,
    'const EXAMPLES = ["level>=warn and message~timeout"]',
  ]) {
    expect(bareTexts("page.tsx", fine), fine).toEqual([]);
  }
});

it("has no label in words other than the terms of the field", () => {
  const catalogue = readFileSync(join(root, "packages/console/src/web/labels/en.json"), "utf8");
  const phrases = [
    ...["all that is kept", "go on", "nothing does", "changed by two", "asked for by"],
    // Jobs are in flight, calls are rejected, traces are evicted, attempts are exhausted.
    ...["in hand", "turned away", "had to go", "as often as it may", "mend", "as it stands", "say so"],
  ];
  const texts = Object.values(JSON.parse(catalogue)).flatMap((text) =>
    typeof text === "string" ? [text] : Object.values(text),
  );
  const found = new RegExp(`\\b(?:${phrases.join("|")})\\b`, "i");
  expect(texts.length).toBeGreaterThan(1_000);
  expect(texts.filter((text) => found.test(text))).toEqual([]);
});

it("makes the catalogue from the labels, sorted, with names for values", () => {
  const text = `
    t\`Retry\`;
    plural(jobs.length, "# job of {0}", "# jobs of {0}", job.queue);
    rich\`See \${<Link to="/">{t\`the guide\`}</Link>} of \${name.toLocaleString()}, \${other.name} and \${f(x)}.\`;
  `;
  expect(JSON.parse(labelCatalogue([{ path: "page.tsx", text }]))).toEqual({
    "# jobs of {queue}": { one: "# job of {queue}", other: "# jobs of {queue}" },
    Retry: "Retry",
    "See {link} of {name}, {name2} and {f}.": "See {link} of {name}, {name2} and {f}.",
    "the guide": "the guide",
  });
});

it("uses a label with the same text and other names of values once", () => {
  const text = `t\`\${failed} of \${attempts}\`; t\`\${shown} of \${total}\`;`;
  expect(JSON.parse(labelCatalogue([{ path: "page.ts", text }]))).toEqual({
    "{failed} of {attempts}": "{failed} of {attempts}",
  });
});

it("rejects a plural whose values are in another order than in the text", () => {
  const text = 'plural(count, "# job", "# jobs of {1} in {0}", a, b);';
  expect(() => labelCatalogue([{ path: "page.ts", text }])).toThrow("not in the order of the text");
});
