// A file of tests that another file loads for its own runtime: a separate module, so that its tests are registered

declare module "*?hosted" {}
declare module "*?kit" {}
