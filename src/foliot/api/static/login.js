// A login link has its code behind the "#": browsers send that part to no server, and it stands in no log.
const code = location.hash.slice(1);
if (code) {
  history.replaceState(null, "", location.pathname);
  const form = document.querySelector("form");
  form.elements.token.value = decodeURIComponent(code);
  form.requestSubmit();
}
