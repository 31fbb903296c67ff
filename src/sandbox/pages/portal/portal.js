// Signs in with the code behind the # of the address, and takes it out of the address at once.
const code = new URLSearchParams(location.hash.slice(1)).get("t");
const form = document.querySelector("#sign-in");
if (code !== null && form !== null) {
  history.replaceState(null, "", location.pathname + location.search);
  form.elements.namedItem("code").value = code;
  form.requestSubmit();
}
