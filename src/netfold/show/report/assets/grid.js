"use strict";

/** Points in cells, so that the one under the pointer is found without looking at all. */
class Grid {
  constructor(xy) {
    const count = xy.length / 2;
    const bits = between(Math.ceil(Math.log2(Math.max(count, 1)) / 2) - 1, 0, 9);
    this.xy = xy;
    this.shift = 16 - bits;
    this.side = 1 << bits;
    this.starts = new Uint32Array(this.side * this.side + 1);
    this.rows = new Uint32Array(count);
    this.sort(count);
  }

  /** A counting sort by cell. */
  sort(count) {
    const { xy, starts, rows, side, shift } = this;
    for (let i = 0; i < count; i++) starts[(xy[2 * i + 1] >> shift) * side + (xy[2 * i] >> shift) + 1]++;
    for (let c = 1; c < starts.length; c++) starts[c] += starts[c - 1];
    const next = starts.slice();
    for (let i = 0; i < count; i++) rows[next[(xy[2 * i + 1] >> shift) * side + (xy[2 * i] >> shift)]++] = i;
  }

  /** Calls back with runs of `rows` in the cells that a box touches. */
  cells([left, bottom, right, top], visit) {
    const cell = (x) => between(Math.floor(x * 65535), 0, 65535) >> this.shift;
    for (let y = cell(bottom); y <= cell(top); y++) {
      visit(this.starts[y * this.side + cell(left)], this.starts[y * this.side + cell(right) + 1]);
    }
  }

  /** The row nearest to a place within a reach, or -1. */
  nearest(x, y, reach) {
    let best = -1;
    let least = reach * reach;
    this.cells([x - reach, y - reach, x + reach, y + reach], (start, stop) => {
      for (let k = start; k < stop; k++) {
        const row = this.rows[k];
        const dx = this.xy[2 * row] / 65535 - x;
        const dy = this.xy[2 * row + 1] / 65535 - y;
        const distance = dx * dx + dy * dy;
        if (distance <= least) [best, least] = [row, distance];
      }
    });
    return best;
  }

  /** Rows in the cells of a box, or null where they are more than `most`. */
  within(box, most) {
    let count = 0;
    this.cells(box, (start, stop) => (count += stop - start));
    if (count > most) return null;
    const found = [];
    this.cells(box, (start, stop) => found.push(...this.rows.subarray(start, stop)));
    return found;
  }
}
