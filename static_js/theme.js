// Light or dark: the system's choice until the reader makes another; kept for the page only.

/** @param {import('./app.js').App} app */
export function initTheme(app) {
  const root = document.documentElement;
  app.on('theme', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    document.dispatchEvent(new CustomEvent('wg-theme'));
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    document.dispatchEvent(new CustomEvent('wg-theme'));
  });
}
