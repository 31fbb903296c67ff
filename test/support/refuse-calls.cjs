// Makes calls of node:fs fail with an error, as in a file system without them: REFUSED_CALLS=linkSync=EPERM,… With
// REFUSED_BELOW, only calls with paths below that folder fail.
const fs = require("node:fs");
const { constants } = require("node:os");

for (const pair of (process.env.REFUSED_CALLS ?? "").split(",")) {
  const [name, code] = pair.split("=");
  const call = fs[name];
  fs[name] = (path, ...rest) => {
    if (!String(path).startsWith(process.env.REFUSED_BELOW ?? "")) return call(path, ...rest);
    const syscall = name.replace(/Sync$/, "");
    const errno = -(constants.errno[code] ?? constants.errno.EIO);
    throw Object.assign(new Error(`${code}: refused by the test, ${syscall}`), { code, errno, syscall });
  };
}
