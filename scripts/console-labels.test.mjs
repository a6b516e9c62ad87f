import { expect, it } from "vitest";
import { bareTexts, labelCatalogue, pageSources } from "./console-labels.mjs";

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
