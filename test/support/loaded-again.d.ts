// Test files that another test file loads for its own runtime. The query makes a separate module, so that its tests are
// registered whether or not this worker has run the file before.

declare module "*?hosted" {}
declare module "*?kit" {}
