"use strict";

const KINDS = { int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, uint32: Uint32Array };
const KEY = "netfold session";
const framed = location.href === "about:srcdoc"; // in the cell of a notebook, whose kernel is asked
const fetched = new Map();
const waiting = new Map();
let session = null;

/** The token of the address, given for a session; a page that is loaded again has one. */
async function openSession() {
  if (framed) return;
  const asked = new URLSearchParams(location.hash.slice(1));
  const token = asked.get("token");
  session = localStorage.getItem(KEY);
  if (!token) return;
  asked.delete("token");
  history.replaceState(null, "", `#${asked}`);
  try {
    ({ session } = await post("session", { token }));
    localStorage.setItem(KEY, session);
  } catch (error) {
    if (!session) throw error;
  }
}

/** What the page starts with. */
async function allFacts() {
  return framed ? overFrame("facts", {}) : (await answered(await fetch("facts", { headers: headers() }))).json();
}

/** The answer to a question. */
function ask(question, body) {
  return framed ? overFrame(question, body) : post(`ask/${question}`, body);
}

/** The array, or the text, that a reference stands for; asked for once, when it is first needed. */
function block(reference) {
  const key = `${reference.block} ${reference.kind}`;
  if (!fetched.has(key)) fetched.set(key, fetchBlock(reference));
  return fetched.get(key);
}

async function fetchBlock({ block: number, kind }) {
  const bytes = framed
    ? await overFrame("block", { number })
    : await (await answered(await fetch(`blocks/${number}`, { headers: headers() }))).arrayBuffer();
  return kind === "text" ? new TextDecoder().decode(bytes) : new KINDS[kind](bytes);
}

async function post(path, body) {
  const how = { method: "POST", headers: headers(), body: JSON.stringify(body) };
  return (await answered(await fetch(path, how))).json();
}

function headers() {
  return { "Content-Type": "application/json", ...(session ? { Authorization: `Bearer ${session}` } : {}) };
}

async function answered(response) {
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  throw new Error(said.error ?? `the server answers ${response.status}`);
}

/** To the notebook, which has the number of the question and gives it back with the answer. */
function overFrame(question, body) {
  return new Promise((resolve, reject) => {
    const id = `${Math.random()}-${performance.now()}`; // other cells ask the same kernel
    waiting.set(id, { resolve, reject });
    parent.postMessage({ netfold: id, question, body }, "*");
  });
}

window.addEventListener("message", ({ data, source }) => {
  const who = source === parent && waiting.get(data?.netfold);
  if (!who) return;
  waiting.delete(data.netfold);
  if (data.error) who.reject(new Error(data.error));
  else who.resolve(data.bytes ?? data.answer);
});

/** Gives the user a file. */
function save(name, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
