// Layouts of interactive figures.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chartsNarrow } from '../../static_js/charts.js';

test('a narrow figure has its legend below the lines', () => {
  const layout = { height: 340, showlegend: true, xaxis: { title: { text: 'FLOP a byte' } } };
  const narrow = chartsNarrow(layout, 12, 350);
  assert.equal(narrow.legend.orientation, 'h');
  assert.equal(narrow.height, 340 + 12 * 20);
  assert.deepEqual(narrow.xaxis, layout.xaxis);
});

test('a wide figure, one without a legend and one of no known width stay as they are', () => {
  const layout = { height: 340, showlegend: true };
  assert.equal(chartsNarrow(layout, 12, 900), layout);
  assert.equal(chartsNarrow(layout, 12, 0), layout);
  const alone = { showlegend: false };
  assert.equal(chartsNarrow(alone, 1, 350), alone);
});
