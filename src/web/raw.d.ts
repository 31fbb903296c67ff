/** A file as text, which the build puts into the program. */
declare module "*?raw" {
  const text: string;
  export default text;
}
