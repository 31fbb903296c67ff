/** A file as text, which the build embeds in the program. */
declare module "*?raw" {
  const text: string;
  export default text;
}
