import type { ProcedureTable, Store } from "../../../kernel/store-contract.ts";

/**
 * Several stores of one log as one store, which uses another one whenever nothing is pending. So requests keep their
 * order, and each store sees what the others wrote.
 */
export function alternatingStore<Procedures extends ProcedureTable>(
  stores: readonly [Store<Procedures>, ...Store<Procedures>[]],
): Store<Procedures> {
  const [first] = stores;
  let turn = 0;
  let pending = 0;
  const end = (): void => {
    pending -= 1;
  };
  return {
    run: first.run,
    isShared: first.isShared,
    members: () => first.members(),
    onRunsGone: (listener) => first.onRunsGone(listener),
    skewMs: () => first.skewMs(),
    problem: () => first.problem(),
    damage: () => first.damage(),
    call(name, input, options) {
      if (pending === 0) turn = (turn + 1) % stores.length;
      pending += 1;
      const result = (stores[turn] ?? first).call(name, input, options);
      result.then(end, end);
      return result;
    },
    readLocal: (name, input) => first.readLocal(name, input),
    onApplied(listener) {
      const removals = stores.map((store) =>
        store.onApplied((applied) => (applied.isOwn ? listener(applied) : undefined)),
      );
      return () => {
        for (const remove of removals) remove();
      };
    },
    async close() {
      await Promise.all(stores.map((store) => store.close()));
    },
  };
}
