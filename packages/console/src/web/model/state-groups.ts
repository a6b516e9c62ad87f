/** A scope, as listed by `state::groups`. */
export interface StateGroup {
  readonly scope: string;
  readonly items: number;
  readonly bytes: number;
}

export interface GroupPage {
  readonly items: readonly StateGroup[];
  readonly cursor: string | null;
  readonly total: number;
}
