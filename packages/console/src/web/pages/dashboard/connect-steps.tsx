import { useState } from "react";
import { useHello } from "../../app/hello.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { FilterTabs } from "../../ui/filter-tabs.tsx";
import { ScrollArea } from "../../ui/scroll-area.tsx";
import { Section } from "./section.tsx";

type Language = "typescript" | "python";

/** `version`: that of the SDK packages in the `sdk/` folder of a project. */
function stepsOf(
  language: Language,
  { bridge, version }: { readonly bridge: string; readonly version: string },
): readonly { readonly title: string; readonly code: string }[] {
  const call = `svc trigger --function-id=hello::greet --payload='{"name": "you"}'`;
  if (language === "python") {
    return [
      {
        title: "In the project's folder, install the SDK",
        code: `pip install --find-links sdk svc-runtime==${version}+project`,
      },
      {
        title: "Write a worker, worker.py",
        code: `import svc

worker = svc.connect("${bridge}", name="hello-worker")

@worker.function("hello::greet", description="Greets by name")
def greet(payload):
    return {"text": f"Hello {payload['name']}"}

worker.run()`,
      },
      { title: "Start it and call it", code: `python worker.py &\n${call}` },
    ];
  }
  return [
    {
      title: "In the project's folder, install the SDK",
      code: `npm install ./sdk/svc-runtime-sdk-${version}.tgz`,
    },
    {
      title: "Write a worker, worker.mjs",
      code: `import { connect } from "@svc-runtime/sdk";

const worker = connect("${bridge}", { name: "hello-worker" });

worker.registerFunction("hello::greet", async ({ name }) => ({ text: \`Hello \${name}\` }), {
  description: "Greets by name",
});`,
    },
    { title: "Start it and call it", code: `node worker.mjs &\n${call}` },
  ];
}

/** Instructions for connecting the first worker. */
export function ConnectSteps() {
  const [language, setLanguage] = useState<Language>("typescript");
  const hello = useHello();
  const facts = { bridge: hello?.engine.bridge ?? "ws://localhost:49134", version: hello?.console_version ?? "0.1.0" };
  return (
    <Section
      title="No worker is connected yet: connect one in three steps"
      controls={
        <FilterTabs
          label="Language"
          value={language}
          onChange={setLanguage}
          tabs={[
            { value: "typescript", label: "TypeScript" },
            { value: "python", label: "Python" },
          ]}
        />
      }
    >
      <ol className="flex flex-col gap-3">
        {stepsOf(language, facts).map(({ title, code }, at) => (
          <li key={title}>
            <h3 className="mb-1 text-ink-2">
              {at + 1}. {title}
            </h3>
            <div className="relative rounded-md border border-line bg-raised">
              <ScrollArea label={`Code of step ${at + 1}`}>
                <pre className="w-max p-3 pr-11">{code}</pre>
              </ScrollArea>
              <CopyButton text={code} label={`Copy step ${at + 1}`} className="absolute top-1.5 right-1.5" />
            </div>
          </li>
        ))}
      </ol>
    </Section>
  );
}
