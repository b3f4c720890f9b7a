"use strict";

/** The names of all nodes in one text, a line each: a million strings of their own would cost far more. */
class Names {
  constructor(text, count) {
    this.text = `\n${text}\n`;
    this.starts = lineStarts(this.text, count);
    this.folded = this.text.toLowerCase();
    // folding may lengthen a letter, and lines begin elsewhere then
    this.foldedStarts = this.folded.length === this.text.length ? this.starts : lineStarts(this.folded, count);
  }

  at(row) {
    return this.text.slice(this.starts[row], this.starts[row + 1] - 1);
  }

  /** The row of this very name, or -1. */
  row(name) {
    const found = this.text.indexOf(`\n${name}\n`);
    return found < 0 ? -1 : lineOf(this.starts, found + 1);
  }

  /** Rows whose name holds a text: those that are it first, then those that begin with it. */
  search(asked, most) {
    const wanted = asked.trim().toLowerCase();
    const rows = new Set();
    if (!wanted || wanted.includes("\n")) return [];
    for (const [text, skip] of [[`\n${wanted}\n`, 1], [`\n${wanted}`, 1], [wanted, 0]]) {
      let from = this.folded.indexOf(text);
      while (from >= 0 && rows.size < most) {
        const row = lineOf(this.foldedStarts, from + skip);
        rows.add(row);
        from = this.folded.indexOf(text, this.foldedStarts[row + 1] - 1);
      }
    }
    return [...rows];
  }
}

/** Where each line begins, and where the one after the last would. */
function lineStarts(text, count) {
  const starts = new Uint32Array(count + 1);
  for (let i = 0, at = 1; i <= count; i++) {
    starts[i] = at;
    at = text.indexOf("\n", at) + 1;
  }
  return starts;
}

/** The line that a position is in. */
function lineOf(starts, position) {
  let low = 0;
  let high = starts.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= position) low = middle;
    else high = middle;
  }
  return low;
}
