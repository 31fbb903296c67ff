/** Stryker runs tests in threads, which cannot set the umask of their process. No mutated code reads the umask. */
process.umask = () => 0o077;
