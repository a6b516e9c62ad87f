/** An item with a due time. */
export interface Due {
  /** Due time, in milliseconds since 1970. Only the queue changes it. */
  dueAt: number;
  /** Index in the heap, or -1 if the item is not in the queue. Only the queue changes it. */
  place: number;
}

/** A binary heap of items. The item with the earliest due time is the first. Each item is in the heap at most once. */
export class DueQueue<Thing extends Due> {
  readonly #heap: Thing[] = [];

  get first(): Thing | undefined {
    return this.#heap[0];
  }

  /** Adds the item, or moves it to its new due time. */
  set(thing: Thing, dueAt: number): void {
    thing.dueAt = dueAt;
    if (thing.place < 0) {
      thing.place = this.#heap.length;
      this.#heap.push(thing);
    }
    this.#sift(thing);
  }

  delete(thing: Thing): void {
    const { place } = thing;
    if (place < 0) return;
    thing.place = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === thing) return;
    this.#put(last, place);
    this.#sift(last);
  }

  #put(thing: Thing, place: number): void {
    this.#heap[place] = thing;
    thing.place = place;
  }

  #sift(thing: Thing): void {
    const heap = this.#heap;
    let place = thing.place;
    for (let above = (place - 1) >> 1; place > 0; above = (place - 1) >> 1) {
      const parent = heap[above] as Thing;
      if (parent.dueAt <= thing.dueAt) break;
      this.#put(parent, place);
      place = above;
    }
    for (let below = 2 * place + 1; below < heap.length; below = 2 * place + 1) {
      const right = heap[below + 1];
      if (right !== undefined && right.dueAt < (heap[below] as Thing).dueAt) below += 1;
      const child = heap[below] as Thing;
      if (child.dueAt >= thing.dueAt) break;
      this.#put(child, place);
      place = below;
    }
    this.#put(thing, place);
  }
}
