/** A vector as the database keeps it: floats of four bytes, the lowest byte first. */
export function bytesOfVector(vector: Float32Array): Uint8Array {
  const bytes = new Uint8Array(vector.length * 4);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < vector.length; at += 1) view.setFloat32(at * 4, vector[at]!, true);
  return bytes;
}

/** Reads the vector that begins at the bytes' first. */
export function readVector(bytes: Uint8Array, into: Float32Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < into.length; at += 1) into[at] = view.getFloat32(at * 4, true);
}
