"use strict";

/** One model of the report, its arrays unpacked as they are needed. */
class Sheet {
  constructor(facts) {
    this.facts = facts;
    this.column = 0;
    this.first = 0; // of the classes that have a colour of their own
    this.only = new Set();
    this.weights = null; // of nodes that are fainter, larger or not seen
    this.links = Boolean(facts.links);
    this.ellipses = Boolean(facts.ellipses) && facts.nodes <= 5000;
  }

  /** What the first frame needs. */
  async points() {
    this.xy ??= await block(this.facts.xy);
    return this.xy;
  }

  /** What pointing, naming and searching need: all of it there at once, or nothing. */
  async words() {
    if (this.names) return;
    const named = await block(this.facts.named);
    const names = new Names(await block(this.facts.names), this.facts.nodes);
    const grid = new Grid(await this.points());
    Object.assign(this, { named, names, grid });
  }

  place(row) {
    return [this.xy[2 * row] / 65535, this.xy[2 * row + 1] / 65535];
  }

  /** The colour slot of every node, by a column: classes by rank, numbers by 256 steps. */
  async slots(column) {
    if (!column) return new Uint8Array(this.facts.nodes);
    const values = await this.values(column);
    const slots = new Uint8Array(values.length);
    const most = CLASS_COLORS.light.length;
    const known = column.classes?.length;
    for (let i = 0; i < slots.length; i++) {
      const rank = values[i] - this.first;
      if (!known) slots[i] = values[i] >> 8;
      else if (values[i] >= known) slots[i] = most + 1;
      else slots[i] = rank >= 0 && rank < most ? rank : most;
    }
    return slots;
  }

  async values(column) {
    column.loaded ??= await block(column.classes ? column.codes : column.values);
    return column.loaded;
  }

  /** What a node has in a column, in words. */
  async word(column, row) {
    const value = (await this.values(column))[row];
    if (column.classes) return column.classes[value] ?? "none";
    const number = numberAt(column, value / 65535);
    return plain(column.whole ? Math.round(number) : number);
  }
}

/** The number at a part, 0 to 1, of a column's scale. */
function numberAt({ low, high, unit }, part) {
  if (unit === null) return low + (high - low) * part;
  const [first, last] = [Math.log1p(low / unit), Math.log1p(high / unit)];
  return unit * Math.expm1(first + (last - first) * part);
}

/** Where a number stands on a column's scale. */
function partOf({ low, high, unit }, number) {
  if (unit === null) return (number - low) / (high - low || 1);
  const [first, last] = [Math.log1p(low / unit), Math.log1p(high / unit)];
  return (Math.log1p(number / unit) - first) / (last - first || 1);
}
