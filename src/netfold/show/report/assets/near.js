"use strict";

const NEAREST = 10;

/** The rows nearest to one by its vector, [row, score], the best first. */
async function nearest(sheet, row) {
  const { metric, width, unit, numbers } = sheet.facts.vectors;
  const vectors = await block(numbers);
  const own = vectors.subarray(row * width, (row + 1) * width);
  const cost = metric === "cosine" ? minusProduct : squaredDistance;
  const best = smallest(vectors.length / width, row, (i) => cost(vectors, i * width, own, width));
  return best.map(([i, x]) => [i, metric === "cosine" ? -x * unit * unit : Math.sqrt(x) * unit]);
}

function minusProduct(vectors, start, own, width) {
  let sum = 0;
  for (let j = 0; j < width; j++) sum -= vectors[start + j] * own[j];
  return sum;
}

function squaredDistance(vectors, start, own, width) {
  let sum = 0;
  for (let j = 0; j < width; j++) {
    const apart = vectors[start + j] - own[j];
    sum += apart * apart;
  }
  return sum;
}

/** The few smallest of many costs, one row left out; of equals the earlier. */
function smallest(count, without, cost) {
  const best = [];
  for (let i = 0; i < count; i++) {
    const x = i === without ? Infinity : cost(i);
    if (x === Infinity || (best.length === NEAREST && x >= best[NEAREST - 1][1])) continue;
    let place = best.length;
    while (place > 0 && best[place - 1][1] > x) place--;
    best.splice(place, 0, [i, x]);
    best.length = Math.min(best.length, NEAREST);
  }
  return best;
}

/** How near was measured, in words, and what was lost on the way here. */
function nearestWords({ metric, width, of, kept }) {
  const what = metric === "W2" ? "Wasserstein distance" : "cosine";
  if (width === of) return `by ${what}`;
  const part = `the ${width} with most in them (${Math.round(kept * 100)}%)`;
  return `by ${what}, roughly: of ${of} dimensions ${part} travel with this page`;
}
