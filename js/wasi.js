// The system that prevail.wasm sees: files in memory, a clock, randomness. What it cannot reach is not there: no network, no disk.
// WASI preview 1, https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md

const OK = 0, BADF = 8, EXIST = 20, INVAL = 28, ISDIR = 31, NOENT = 44, NOSYS = 52;
const DIRECTORY = 3, REGULAR = 4;
const ROOT = 3; // the descriptor of the one folder
const CREATE = 1, ONLY_FOLDER = 2, EXCLUSIVE = 4, TRUNCATE = 8;

class Exit extends Error {
  constructor(code) {
    super(`exit ${code}`);
    this.code = code;
  }
}

class MemoryFile {
  constructor(bytes = new Uint8Array(0)) {
    this.bytes = bytes; // may be longer than size
    this.size = bytes.length;
  }
  content() {
    return this.bytes.slice(0, this.size);
  }
  resize(size) {
    if (size > this.bytes.length) {
      const larger = new Uint8Array(Math.max(size, 2 * this.bytes.length, 4096));
      larger.set(this.bytes.subarray(0, this.size));
      this.bytes = larger;
    }
    this.bytes.fill(0, this.size, Math.max(size, this.size));
    this.size = size;
  }
  write(at, from) {
    if (at + from.length > this.size) this.resize(at + from.length);
    this.bytes.set(from, at);
  }
}

// Runs one command on the files of a Map from names to Uint8Arrays. Returns the exit code, what it printed, and the files it left.
export async function run(module, args, files) {
  const table = new Map([...files].map(([name, bytes]) => [name, new MemoryFile(bytes)]));
  const streams = [new MemoryFile(), new MemoryFile(), new MemoryFile()];
  const open = new Map(streams.map((file, i) => [i, { file, at: 0 }]));
  open.set(ROOT, { folder: true });
  const numbers = new Map();
  const encoder = new TextEncoder(), decoder = new TextDecoder();
  const words = ["prevail", ...args].map((word) => encoder.encode(`${word}\0`));
  let memory, next = ROOT + 1;

  const view = () => new DataView(memory.buffer);
  const bytes = (at, size) => new Uint8Array(memory.buffer, at, size);
  const named = (at, size) => decoder.decode(bytes(at, size)).split("/").filter((part) => part && part !== ".").join("/");
  const number = (file) => {
    if (!numbers.has(file)) numbers.set(file, BigInt(numbers.size + 1));
    return numbers.get(file);
  };
  const stat = (file, at) => { // null: the folder
    bytes(at, 64).fill(0);
    view().setBigUint64(at + 8, file ? number(file) : 1000000n, true);
    view().setUint8(at + 16, file ? REGULAR : DIRECTORY);
    view().setBigUint64(at + 24, 1n, true);
    view().setBigUint64(at + 32, BigInt(file ? file.size : 0), true);
    return OK;
  };
  const vectors = function* (at, count) {
    for (let i = 0; i < count; i++) yield bytes(view().getUint32(at + 8 * i, true), view().getUint32(at + 8 * i + 4, true));
  };
  const readAt = (file, at, list, count, total) => {
    let done = 0;
    for (const to of vectors(list, count)) {
      const part = file.bytes.subarray(at + done, Math.min(at + done + to.length, file.size));
      to.set(part);
      done += part.length;
      if (part.length < to.length) break;
    }
    view().setUint32(total, done, true);
    return done;
  };
  const opened = (fd) => open.get(fd)?.file && open.get(fd);

  const system = {
    args_sizes_get(count, size) {
      view().setUint32(count, words.length, true);
      view().setUint32(size, words.reduce((sum, word) => sum + word.length, 0), true);
      return OK;
    },
    args_get(list, at) {
      for (const word of words) {
        view().setUint32(list, at, true);
        bytes(at, word.length).set(word);
        list += 4;
        at += word.length;
      }
      return OK;
    },
    environ_sizes_get(count, size) {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return OK;
    },
    environ_get: () => OK,
    clock_time_get(clock, precision, at) {
      const now = clock === 0 ? Date.now() : performance.now();
      view().setBigUint64(at, BigInt(Math.round(1e6 * now)), true);
      return OK;
    },
    random_get(at, size) {
      for (let done = 0; done < size; done += 65536) crypto.getRandomValues(bytes(at + done, Math.min(65536, size - done)));
      return OK;
    },
    proc_exit(code) {
      throw new Exit(code);
    },
    poll_oneoff: () => NOSYS,
    fd_advise: () => OK,
    fd_allocate: () => NOSYS,
    fd_sync: () => OK,
    fd_fdstat_set_flags: () => OK,
    fd_close(fd) {
      return open.delete(fd) ? OK : BADF;
    },
    fd_fdstat_get(fd, at) {
      if (!open.has(fd)) return BADF;
      bytes(at, 24).fill(0);
      view().setUint8(at, open.get(fd).folder ? DIRECTORY : REGULAR);
      view().setBigUint64(at + 8, 0x1fffffffn, true); // every right
      view().setBigUint64(at + 16, 0x1fffffffn, true);
      return OK;
    },
    fd_filestat_get(fd, at) {
      return open.has(fd) ? stat(open.get(fd).file ?? null, at) : BADF;
    },
    fd_prestat_get(fd, at) {
      if (fd !== ROOT) return BADF;
      view().setUint32(at, 0, true);
      view().setUint32(at + 4, 1, true);
      return OK;
    },
    fd_prestat_dir_name(fd, at) {
      bytes(at, 1)[0] = "/".charCodeAt(0);
      return OK;
    },
    fd_read(fd, list, count, total) {
      const one = opened(fd);
      if (!one) return BADF;
      one.at += readAt(one.file, one.at, list, count, total);
      return OK;
    },
    fd_pread(fd, list, count, offset, total) {
      const one = opened(fd);
      if (!one) return BADF;
      readAt(one.file, Number(offset), list, count, total);
      return OK;
    },
    fd_write(fd, list, count, total) {
      const one = opened(fd);
      if (!one) return BADF;
      let done = 0;
      for (const from of vectors(list, count)) {
        one.file.write(one.at, from);
        one.at += from.length;
        done += from.length;
      }
      view().setUint32(total, done, true);
      return OK;
    },
    fd_seek(fd, offset, whence, at) {
      const one = opened(fd);
      if (!one) return BADF;
      const to = Number(offset) + [0, one.at, one.file.size][whence];
      if (!(to >= 0)) return INVAL;
      one.at = to;
      view().setBigUint64(at, BigInt(to), true);
      return OK;
    },
    fd_readdir(fd, at, size, cookie, used) { // nothing is listed
      view().setUint32(used, 0, true);
      return OK;
    },
    path_open(fd, follow, at, size, how, rights, inherited, flags, to) {
      const name = named(at, size);
      let file = table.get(name);
      if (name === "") file = null;
      else if (how & ONLY_FOLDER) return NOENT;
      else if (file && how & EXCLUSIVE) return EXIST;
      else if (!file && !(how & CREATE)) return NOENT;
      else if (!file) table.set(name, (file = new MemoryFile()));
      else if (how & TRUNCATE) file.resize(0);
      open.set(next, file ? { file, at: 0 } : { folder: true });
      view().setUint32(to, next++, true);
      return OK;
    },
    path_filestat_get(fd, follow, at, size, to) {
      const name = named(at, size);
      if (name === "") return stat(null, to);
      return table.has(name) ? stat(table.get(name), to) : NOENT;
    },
    path_create_directory: () => NOSYS,
    path_readlink: () => INVAL, // nothing is a link
    path_rename(fd, at, size, other, to, length) {
      const from = named(at, size);
      if (!table.has(from)) return NOENT;
      table.set(named(to, length), table.get(from));
      table.delete(from);
      return OK;
    },
    path_unlink_file(fd, at, size) {
      const name = named(at, size);
      if (name === "") return ISDIR;
      return table.delete(name) ? OK : NOENT;
    },
  };

  const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: system });
  memory = instance.exports.memory;
  let code = 0;
  try {
    instance.exports._start();
  } catch (problem) {
    if (!(problem instanceof Exit)) throw problem;
    code = problem.code;
  }
  const [, out, err] = streams.map((file) => decoder.decode(file.content()));
  return { code, out, err, files: new Map([...table].map(([name, file]) => [name, file.content()])) };
}
