// The worker of the site's start page (docs/assets/live.js): runs a command on a table, and returns what it prints.
// scripts/js puts wasi.js, prevail.js and unpack.js before it.
let compiled;

onmessage = async ({ data: { words, csv } }) => {
  try {
    compiled ??= await WebAssembly.compile(await unpacked(ENGINE));
    const { code, out, err } = await run(compiled, words, new Map([[DATA, bytesOf(csv)]]));
    postMessage({ code, out, err });
  } catch (problem) {
    postMessage({ code: 1, out: "", err: problem.message });
  }
};
