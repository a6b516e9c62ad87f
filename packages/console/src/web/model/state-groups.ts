/** A scope, in the form in which `state::groups` lists it. */
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
