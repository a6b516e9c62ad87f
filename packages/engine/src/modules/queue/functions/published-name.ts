import type { FunctionSpec } from "../../../kernel/module.ts";

/** The same function under the id that published clients use for it; no listing shows it. */
export function publishedName<Input>(spec: FunctionSpec<Input>): FunctionSpec<Input> {
  return { ...spec, id: spec.id.replace(/^svc::/, "iii::"), internal: true };
}
