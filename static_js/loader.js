// Starts the page's script, which stands packed in the element before this one: a classic script, so that it
// knows where it stands and takes nothing that only has the right id.
{
  const store = document.currentScript?.previousElementSibling;
  const start = async () => {
    const raw = atob((store?.textContent ?? '').trim());
    const bytes = Uint8Array.from(raw, (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    const code = await new Response(stream).blob();
    const script = document.createElement('script');
    script.src = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
    script.addEventListener('load', () => URL.revokeObjectURL(script.src));
    document.head.append(script);
  };
  start().catch((error) => {
    const note = document.getElementById('wg-note');
    if (note) {
      note.hidden = false;
      note.textContent = `The page stays as it is: its script could not be unpacked (${error}).`;
    }
  });
}
