// For scripts that hold an engine: ENGINE, packed by gzip, as base64 (scripts/js).
const unbase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const unpacked = async (text) => new Uint8Array(await new Response(new Blob([unbase64(text)]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
