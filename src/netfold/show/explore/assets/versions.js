"use strict";

const RINGED = 300;

/** The map as it was at a version: later nodes are not there yet, those that it placed have a ring. */
async function showVersion(page, number) {
  const view = page.views.find(({ sheet }) => sheet.facts.versions);
  const { versions } = view.sheet.facts;
  page.version = number === versions.length ? null : number;
  const now = versions[number - 1];
  byId("version").value = number;
  byId("version-words").textContent = now ? `${now.number}, ${now.time.replace("T", " ")}` : "0, as it was fitted";
  const gone = now?.gone ? `, ${plain(now.gone)} left (${now.left.join(", ")}${now.gone > now.left.length ? ", …" : ""}; not on this map)` : "";
  byId("version-facts").textContent = now ? `${plain(now.placed)} placed${gone}.${now.alarm ? ` ${now.alarm}` : ""}` : "Nobody was placed yet.";
  for (const each of page.views) {
    if (!each.sheet.facts.versions) continue;
    const born = await block(each.sheet.facts.born);
    const rows = [];
    for (let i = 0; i < born.length && number > 0 && rows.length < RINGED; i++) if (born[i] === number) rows.push(i);
    each.ringed = rows;
    each.map.render(false);
  }
  await weigh(page);
}

function listenToVersions(page) {
  const view = page.views.find(({ sheet }) => sheet.facts.versions);
  byId("versions").hidden = !view;
  if (!view) return;
  const { length } = view.sheet.facts.versions;
  Object.assign(byId("version"), { max: length, value: length });
  byId("version").addEventListener("input", page.guarded(({ target }) => showVersion(page, Number(target.value))));
}
