/** A program that opens the given file as a later version would. */
const loaded = await import("./migrate.ts").catch((error: unknown) => {
  // A call that fails while this program is loaded proves nothing about its work.
  console.error(`the program cannot be read: ${String(error)}`);
  process.exitCode = 1;
});
loaded?.migrateToLastVersion(process.argv[2] ?? "");
