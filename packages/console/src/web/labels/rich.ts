import { createElement, Fragment, type ReactNode } from "react";
import { translated } from "./translate.ts";

/** Returns a text in the language of the page. Tag of a template, like `t`, whose values may be elements. */
export function rich(parts: TemplateStringsArray, ...values: readonly ReactNode[]): ReactNode {
  return createElement(Fragment, null, ...translated(parts, values));
}
