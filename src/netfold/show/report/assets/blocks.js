"use strict";

const KINDS = { int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, uint32: Uint32Array };
const unpacked = new Map();

/** The array, or the text, that a reference stands for; unpacked once, when it is first asked for. */
function block(reference) {
  const key = `${reference.block} ${reference.kind}`;
  if (!unpacked.has(key)) unpacked.set(key, unpack(reference));
  return unpacked.get(key);
}

async function unpack({ block, kind }) {
  const holder = byId(`block-${block}`);
  let bytes = fromBase64(holder.textContent);
  if (holder.dataset.packed === "gzip") bytes = await fromGzip(bytes);
  return kind === "text" ? new TextDecoder().decode(bytes) : new KINDS[kind](bytes.buffer);
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function fromGzip(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
