"use strict";

/** Mouse, fingers and keys on the map; `onlasso` is given the line drawn with shift held, and whether it is whole. */
function listen(map, canvas, { onselect, onhover, onlasso }) {
  const fingers = new Map();
  let travelled = 0;
  let line = null;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const changed = () => {
    map.flying = null;
    map.move();
  };

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    if (!fingers.size) travelled = 0;
    fingers.set(event.pointerId, at(event));
    line = onlasso && fingers.size === 1 && (event.shiftKey || map.lassoing) ? [at(event)] : null;
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    const before = fingers.get(event.pointerId);
    if (before && line) {
      travelled += Math.hypot(x - line[line.length - 1][0], y - line[line.length - 1][1]);
      line.push([x, y]);
      return onlasso(line, false);
    }
    if (!before) return onhover(map.rowAt(x, y), x, y);
    const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    travelled += Math.hypot(x - before[0], y - before[1]);
    if (others.length) pinch(map.camera, before, [x, y], others[0]);
    else if (travelled > 3) map.camera.move(x - before[0], y - before[1]);
    fingers.set(event.pointerId, [x, y]);
    if (travelled > 3) onhover(-1);
    return changed();
  });
  const lifted = (event) => {
    const alone = fingers.size === 1;
    if (line && travelled > 3) onlasso(event.type === "pointerup" ? line : null, true);
    line = null;
    if (fingers.delete(event.pointerId) && alone && travelled <= 3 && event.type === "pointerup") {
      onselect(map.rowAt(...at(event)));
    }
  };
  canvas.addEventListener("pointerup", lifted);
  canvas.addEventListener("pointercancel", lifted);
  canvas.addEventListener("pointerleave", () => onhover(-1));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    map.camera.zoomAt(Math.exp(-between(pixels, -240, 240) * 0.0022), ...at(event));
    changed();
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => {
    map.camera.zoomAt(event.shiftKey ? 0.5 : 2, ...at(event));
    changed();
  });
  canvas.addEventListener("keydown", (event) => {
    if (pressed(map, event)) {
      event.preventDefault();
      changed();
    }
  });
}

/** What is known of the node under the pointer, beside it; nothing with -1. */
async function showTip(tip, map, row, x, y) {
  tip.hidden = row < 0;
  if (row < 0) return;
  const { sheet, camera } = map;
  const column = sheet.facts.columns[sheet.column];
  const more = column ? `${column.name}: ${await sheet.word(column, row)}` : "";
  tip.replaceChildren(element("strong", {}, sheet.names.at(row)), element("span", {}, more));
  const left = Math.min(x + 14, camera.width - tip.offsetWidth - 6);
  const top = y > 70 ? y - tip.offsetHeight - 10 : y + 18;
  tip.style.transform = `translate(${left}px, ${top}px)`;
}

/** Two fingers: their middle moves the map, their distance zooms it. */
function pinch(camera, before, now, other) {
  const middle = [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2];
  const apart = (a) => Math.max(Math.hypot(a[0] - other[0], a[1] - other[1]), 1);
  camera.move((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
  camera.zoomAt(apart(now) / apart(before), ...middle);
}

/** What a key does to the camera; false where it does nothing. */
function pressed(map, { key, ctrlKey, metaKey, altKey }) {
  const { camera } = map;
  const step = Math.min(camera.width, camera.height) / 8;
  const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
  if (ctrlKey || metaKey || altKey) return false;
  if (moves[key]) camera.move(...moves[key]);
  else if (key === "+" || key === "=") camera.zoomAt(1.4, camera.width / 2, camera.height / 2);
  else if (key === "-" || key === "_") camera.zoomAt(1 / 1.4, camera.width / 2, camera.height / 2);
  else if (key === "0" || key === "Home") camera.look(camera.fitting(map.sheet.facts.home));
  else return false;
  return true;
}
