/** Stryker runs tests in threads, which cannot set the umask of their process. Nothing that is mutated looks at it. */
process.umask = () => 0o077;
