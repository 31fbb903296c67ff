// Makes calls of node:fs fail with an error, as a file system does that lacks them: REFUSED_CALLS=linkSync=EPERM,…
const fs = require("node:fs");
const { constants } = require("node:os");

for (const pair of (process.env.REFUSED_CALLS ?? "").split(",")) {
  const [name, code] = pair.split("=");
  fs[name] = () => {
    const syscall = name.replace(/Sync$/, "");
    const errno = -(constants.errno[code] ?? constants.errno.EIO);
    throw Object.assign(new Error(`${code}: refused by the test, ${syscall}`), { code, errno, syscall });
  };
}
