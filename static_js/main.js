// Boots the page. A section that is missing is fine; one that fails says so and leaves the others alone.

import { App } from './app.js';
import { initCharts } from './charts.js';
import { initCode } from './code.js';
import { initCounters } from './counters.js';
import { dataReport } from './data.js';
import { initFindings } from './findings.js';
import { keysInstall, keysLabel } from './keys.js';
import { initMemory } from './memory.js';
import { initNav } from './nav.js';
import { initPipeline } from './pipeline.js';
import { initLaunches } from './launches.js';
import { initMetrics } from './profile.js';
import { initProfile } from './profile-compare.js';
import { initSchedule } from './schedule.js';
import { initStepper } from './stepper.js';
import { initTheme } from './theme.js';

/** @type {Array<[string, (root: HTMLElement, app: App) => void]>} */
const MAIN_SECTIONS = [
  ['launches', initLaunches],
  ['profile', initProfile],
  ['metrics', initMetrics],
  ['findings', initFindings],
  ['code', initCode],
  ['stepper', initStepper],
  ['schedule', initSchedule],
  ['memory', initMemory],
  ['pipeline', initPipeline],
  ['counters', initCounters],
];

async function mainBoot() {
  const report = await dataReport(document);
  if (!report) return;
  const app = new App(report);
  keysInstall(app);
  initTheme(app);
  initNav(app, document.querySelector('.bar-tools'));
  await app.readFragment();
  for (const [id, init] of MAIN_SECTIONS) {
    const root = document.getElementById(`sec-${id}`);
    if (!root) continue;
    try {
      init(root, app);
    } catch (error) {
      console.error(error);
      app.note(`The section “${id}” could not be made interactive.`);
    }
  }
  initCharts();
  keysLabel(document);
  document.addEventListener('click', (event) => {
    const button = event.target instanceof Element ? event.target.closest('[data-action]') : null;
    if (button && !(/** @type {HTMLButtonElement} */ (button).disabled)) app.perform(button.getAttribute('data-action') ?? '');
  });
  app.store.subscribe(() => app.writeFragment());
  addEventListener('hashchange', () => {
    // Links to sections are no selections.
    if (!/^#v=/.test(location.hash)) return;
    void app.readFragment();
  });
  document.documentElement.dataset.ready = 'true';
}

void mainBoot();
