"use strict";

const FOUND = 12;

/** "/" searches; Esc leaves a field for the map, and else deselects. */
function listenToKeys(field, canvas, deselect) {
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      field.focus();
    } else if (event.key === "Escape") {
      if (typing) canvas().focus({ preventScroll: true });
      else deselect();
    }
  });
}

/** The search box: a list of nodes under it, walked with the arrow keys. */
function searchBox(field, list, { rowsFor, nameOf, onchoose }) {
  let rows = [];
  let active = -1;

  const close = () => {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
    active = -1;
  };
  const choose = (row) => {
    close();
    field.value = nameOf(row);
    onchoose(row);
  };
  const mark = (next) => {
    active = rows.length ? (next + rows.length) % rows.length : -1;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === active)));
    if (active >= 0) {
      field.setAttribute("aria-activedescendant", `found-${active}`);
      list.children[active].scrollIntoView({ block: "nearest" });
    }
  };
  const open = () => {
    rows = rowsFor(field.value, FOUND);
    list.replaceChildren(...rows.map((row, i) =>
      element("li", { id: `found-${i}`, role: "option", onpointerdown: (e) => { e.preventDefault(); choose(row); } },
        nameOf(row))));
    if (!rows.length && field.value.trim()) list.append(element("li", { class: "none" }, "no name holds this"));
    list.hidden = !field.value.trim();
    field.setAttribute("aria-expanded", String(!list.hidden));
    if (rows.length) mark(0);
  };

  field.addEventListener("input", open);
  field.addEventListener("focus", () => field.select());
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") list.hidden ? open() : mark(active + 1);
    else if (event.key === "ArrowUp") mark(active - 1);
    else if (event.key === "Enter") {
      if (list.hidden) open();
      if (active >= 0) choose(rows[active]);
    }
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
}
