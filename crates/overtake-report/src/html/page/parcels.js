// Parcels: compressed JSON that the page carries. They are opened when somebody looks.

const opened = new Map();

/** The value in the parcel of this name; a promise, the same one for each call. */
function openParcel(name) {
  if (!opened.has(name)) opened.set(name, unpack(byId(name).textContent));
  return opened.get(name);
}

async function unpack(letters) {
  const packed = atob(letters);
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

