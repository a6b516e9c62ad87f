// @vitest-environment happy-dom
import { act, useState } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, it, vi } from "vitest";
import { formFor } from "./form-model.ts";
import { SchemaForm } from "./schema-form.tsx";

afterEach(() => vi.unstubAllGlobals());

const PARCEL = { type: "object", required: ["street"], properties: { street: { type: "string" } } };
const PICK_UP = {
  title: "Pick-up",
  type: "object",
  required: ["shop"],
  properties: { shop: { type: "string", default: "Main street" } },
};

/** Renders the form of a schema. Returns its element and the latest text. */
async function render(schema: object, first: string) {
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  const model = formFor(schema);
  let text = first;
  function Form() {
    const [shown, setShown] = useState(first);
    text = shown;
    return <SchemaForm model={model} text={shown} onChange={setShown} onJson={() => {}} />;
  }
  const place = document.createElement("div");
  const root = createRoot(place);
  await act(async () => root.render(<Form />));
  return {
    place,
    text: () => JSON.parse(text) as unknown,
    async choose(title: string): Promise<void> {
      const select = place.querySelector("select") as HTMLSelectElement;
      const option = [...select.options].find((each) => each.textContent === title);
      await act(async () => {
        select.value = option?.value ?? "";
        select.dispatchEvent(new Event("change", { bubbles: true }));
      });
    },
    unmount: () => act(async () => root.unmount()),
  };
}

it("shows a member with oneOf as a choice, with the fields of the schema that the value matches", async () => {
  const form = await render(
    { type: "object", required: ["to"], properties: { to: { oneOf: [PICK_UP, { ...PARCEL, title: "Parcel" }] } } },
    '{"to": {"street": "Elm"}}',
  );
  const select = form.place.querySelector<HTMLSelectElement>('select[aria-label="Schema of to"]');
  expect(select?.selectedOptions[0]?.textContent).toBe("Parcel");
  expect(form.place.textContent).toContain("street");
  await form.choose("Pick-up");
  expect(form.text()).toEqual({ to: { shop: "Main street" } });
  expect(form.place.textContent).toContain("shop");
  await form.unmount();
});

it("shows a choice of the whole input, named by its constant member", async () => {
  const variant = (kind: string, more: object) => ({
    ...{ type: "object", required: ["kind"], properties: { kind: { const: kind }, ...more } },
  });
  const form = await render(
    { oneOf: [variant("card", { number: { type: "string" } }), variant("invoice", {})] },
    '{"kind": "card", "number": "4"}',
  );
  expect(form.place.querySelector("select")?.selectedOptions[0]?.textContent).toBe('kind: "card"');
  await form.choose('kind: "invoice"');
  expect(form.text()).toEqual({ kind: "invoice" });
  await form.unmount();
});

it("offers the choice for a value that matches no schema", async () => {
  const form = await render({ type: "object", properties: { to: { anyOf: [PICK_UP, PARCEL] } } }, '{"to": 1}');
  expect(form.place.querySelector("select")?.selectedOptions[0]?.textContent).toBe("Matches no schema");
  expect(form.place.textContent).toContain("Edit as JSON");
  await form.unmount();
});
