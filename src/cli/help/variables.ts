/** Variables of the system and of other programs that this program reads. */
export const SYSTEM_VARIABLES = {
  APPDATA: "on Windows: folder of this user's settings",
  CI: "if set, nothing is prompted; unless it is 0 or false, human-readable output contains no secrets, except on a terminal",
  FORCE_COLOR: "print colours even without a terminal; 0 prints none",
  NO_COLOR: "if set, print no colours",
  HOME: "home folder, for the completion scripts",
  SHELL: "your shell, for hints and for completion install",
  OS: "if it is Windows_NT and SHELL is not set, hints are for PowerShell",
  TERM: "if it is dumb, print no escape codes",
  XDG_CACHE_HOME:
    "cache folder, for files that the standalone executable unpacks on its first run (default: .cache in the home folder)",
  USERPROFILE: "home folder if HOME is not set",
  XDG_DATA_HOME:
    "folder for the completion scripts of bash and zsh (default: .local/share in the home folder)",
  XDG_CONFIG_HOME: "folder of this user's settings (default: .config in the home folder)",
  http_proxy: "proxy for calls to a service with --base-url or --target over http; never for this machine",
  https_proxy: "proxy for calls to a service with --base-url or --target over https; never for this machine",
  all_proxy: "proxy for a scheme whose own variable (http_proxy, https_proxy) is not set",
  no_proxy: "hosts that are reached without a proxy",
  HTTP_PROXY: "same as http_proxy",
  HTTPS_PROXY: "same as https_proxy",
  ALL_PROXY: "same as all_proxy",
  NO_PROXY: "same as no_proxy",
  npm_command: "set by npx: hints then begin with npx checkout",
} as const;
