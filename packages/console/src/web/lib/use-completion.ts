import type { Completion, QueryField } from "@svc-runtime/protocol/query";
import { useCallback, useEffect, useRef } from "react";
import type { AttributeSource, KnownAttributes } from "./load-attributes.ts";

/** Values of facets, by facet name. */
export type KnownValues = Readonly<Partial<Record<string, readonly { readonly value: string }[]>>>;

type CompleteQuery = typeof import("./load-attributes.ts").completeQuery;

/** Maximum number of values that are remembered for a field. */
const MAX_VALUES = 500;

/**
 * Returns a function that completes queries.
 *
 * It suggests all values that `facets` has had since the page was opened. The current facets are not enough, because
 * they have fewer values while a query is typed. `names` maps fields to facets. Names and values of attributes come
 * from the latest spans, entries or items of `sources`, which are read when the user types the first letter. `names`
 * and `sources` must be constant. The code is loaded after the page. Until then, there are no suggestions.
 */
export function useCompletion({
  fields,
  facets,
  names,
  sources,
}: {
  readonly fields: readonly QueryField[];
  readonly facets: KnownValues | undefined;
  readonly names: Readonly<Record<string, string>>;
  readonly sources: readonly AttributeSource[];
}): (text: string, caret: number) => Completion | undefined {
  const known = useRef(new Map<string, Set<string>>());
  const attributes = useRef<KnownAttributes>(undefined);
  const complete = useRef<CompleteQuery>(undefined);
  const load = useRef<() => void>(undefined);
  useEffect(() => {
    import("./load-attributes.ts").then(
      ({ completeQuery, loadAttributes }) => {
        complete.current = completeQuery;
        load.current = () => {
          load.current = undefined;
          void loadAttributes(sources).then((loaded) => {
            attributes.current = loaded;
          });
        };
      },
      // If the code cannot be loaded, there are no suggestions.
      () => {},
    );
  }, [sources]);
  useEffect(() => {
    for (const [facet, counts = []] of Object.entries(facets ?? {})) {
      const values = known.current.get(facet) ?? new Set();
      for (const { value } of counts) if (values.size < MAX_VALUES) values.add(value);
      known.current.set(facet, values);
    }
  }, [facets]);
  return useCallback(
    (text, caret) => {
      load.current?.();
      return complete.current?.(text, caret, {
        fields,
        attributes: [...(attributes.current?.keys() ?? [])],
        valuesOf: (field) => [...(known.current.get(names[field] ?? "") ?? attributes.current?.get(field) ?? [])],
      });
    },
    [fields, names],
  );
}
