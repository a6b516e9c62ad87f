import { createElement, Fragment, type ReactNode } from "react";
import { translated } from "./translate.ts";

/** Returns a text in the language of the page. It is a template tag like `t`, but the values may be React elements. */
export function rich(parts: TemplateStringsArray, ...values: readonly ReactNode[]): ReactNode {
  return createElement(Fragment, null, ...translated(parts, values));
}
