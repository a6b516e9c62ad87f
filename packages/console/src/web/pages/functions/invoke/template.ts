import { t } from "../../../labels/translate.ts";
import { hasName, type Named, type SavedKind } from "../../../lib/saved-items.ts";
import type { Draft } from "./request.ts";

/** A draft that was saved under a name, in the engine's state. */
export interface Template extends Named {
  readonly draft: Draft;
  readonly saved_at_ms: number;
}

const MAX_TEMPLATES = 200;

/** Returns the place in the state at which the templates of a function are stored. */
export function templatesOf(functionId: string): SavedKind<Template> {
  return { prefix: `template/${encodeURIComponent(functionId)}/`, most: MAX_TEMPLATES, isItem: isTemplate };
}

/** Reads an exported file of templates. Throws an Error for any other file. */
export function readTemplates(text: string): readonly Template[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(t`The file is not JSON: ${(error as Error).message}`);
  }
  const list = Array.isArray(value) ? value : [];
  const templates = list.filter(isTemplate);
  if (templates.length === 0 || templates.length !== list.length || templates.length > MAX_TEMPLATES)
    throw new Error(t`The file contains no templates; choose a file that was exported here.`);
  return templates;
}

function isTemplate(value: unknown): value is Template {
  const { draft } = (value ?? {}) as Partial<Template>;
  if (!hasName(value) || typeof draft !== "object" || draft === null) return false;
  const { payload, mode, timeoutMs, queue, metadata } = draft;
  return (
    [payload, timeoutMs, queue, metadata].every((text) => typeof text === "string") &&
    (mode === "sync" || mode === "void" || mode === "enqueue")
  );
}
